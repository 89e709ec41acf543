"""The semidefinite relaxation, and bounds on the best possible direction."""
