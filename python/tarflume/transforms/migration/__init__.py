"""Recipes of other libraries as recipes of tarflume. None of the libraries is imported for it."""
