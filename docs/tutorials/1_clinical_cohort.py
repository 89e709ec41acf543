"""
Two groups of patients
======================

stub
"""
