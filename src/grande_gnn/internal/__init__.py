"""Plumbing that every room may use and no user needs: checks, files, devices, a Ray cluster."""
