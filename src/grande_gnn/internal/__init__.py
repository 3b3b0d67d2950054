"""Internal helpers that every package here may use: checks, files, devices, a Ray cluster."""
