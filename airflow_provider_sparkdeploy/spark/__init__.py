"""The hands of the plan: everything that talks to Spark, in the order of the data.

session            what is asked of a Spark, and Spark Connect
local              the embedded Connect server, one per warehouse folder
submit             a Spark behind spark-submit
catalog            what is really there
lock, history      who may write; what was done, kept beside what it describes
matview, fixpoint  data tables and their views; components to their fixpoint
execute            one operation
apply              all of them
"""
