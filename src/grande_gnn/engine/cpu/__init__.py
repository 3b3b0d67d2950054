"""The engine in plain torch: on the CPU, and on any device as the reference."""
