"""The engine in plain torch: the reference, and all that a training on the CPU uses."""
