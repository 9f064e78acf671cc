"""The Airflow side, in the order of a deployment's life:

deploying   what a DAG deploys, and where: one value
shown       the plan as the graph shows it (R), and whether the actual plan (A) fits into it
keeping     what is kept between runs, in Variables that a parse can read
rendering   what a parse shows: the kept plan while it fits, else a new one
tasks       the shown plan as Airflow tasks and edges
factory     ``SparkDeployDag`` and ``SparkDeployTaskGroup``: what users write
runlog      what is kept within a run: the frozen plan, and the deploy log in XComs
planning    the actual plan: history, catalog, repository
task        what all tasks have in common; plan_task, approve_task, operation_task, record_task
operators   all of them in one place
recording   the end of a run: history, and the state that the next plan starts from
hook        connections to sessions
"""
