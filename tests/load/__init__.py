"""How much does a hub bear, and what is left of it when it is killed?"""
