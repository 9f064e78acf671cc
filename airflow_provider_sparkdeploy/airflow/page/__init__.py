"""The SparkDeploy page in Airflow's UI: what is planned, deployed, was done, and goes in circles.

values      what the page is made from: plain frozen values
kept        what Airflow keeps, as these values: Variables, XComs, the serialized DAG
reading     the only module that asks Airflow's database
why         reasons as chains; differences of texts
picture     objects and what they read, as a graph
plan, objects, history, components
            one pure function per tab: from values to the JSON that the browser gets
app         the routes: who may read a DAG may read its page, nobody else; nothing is ever written

The browser's part is in ``assets``: modules without a framework, and nothing from elsewhere.
"""
