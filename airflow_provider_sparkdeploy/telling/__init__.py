"""Plans in words, for a terminal and for a task's log: what happens, and why.

changes   what happened to an object
reasons   why it is redeployed
tree      a whole plan
markdown  a whole plan, for a pull request
"""
