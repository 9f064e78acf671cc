"""The engine, without Spark and without Airflow. The stages, in the order of the data:

files, settings      the folder, and what the project decides
fingerprint          whether any of it changed, without parsing
headers, tokens      markers and ``${tokens}`` in a file
lexer, statement     statements, their hashes, what they are
references           the names that a statement mentions
parse, repository    one file to one object; all files to a repository
resolve, graph       names to objects; dependencies and their order
cycles, polarity     which cycles are legal, and why the others are not
state, deploylog     what is deployed, and the log that says so
catalog, reconcile   what is really there, and what that makes of the log
diff                 what changed; scripts and tables in scriptdiff and tablediff
squash               what a change stands for that has baselinedChanges
select, dirty        what is asked for; what must be redeployed, with every reason
drops, drafts        the operations of one object: what is taken away, what is made
deployed, plan       all operations, each after what it depends on
observing            which of them must look up what they leave
hazards, guard       plans that contradict themselves; operations that must not run
columnuse            which columns a statement reads: certainly, or perhaps
planner              all of it in a row
codec, schedule      the plan as JSON; which of its operations may run now
"""
