"""Which labellings are as likely as the observed one, and the p-values that follow."""
