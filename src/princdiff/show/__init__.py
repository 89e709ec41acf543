"""What people see: plots, the terminal and the HTML page."""
