"""Which references of a query are monotone, and what is said about the others.

``m`` and ``n`` (also ``s.m``, ``s.n``) are members of the component; every other table is outside.
"""

from __future__ import annotations

import pytest
import sqlglot

from airflow_provider_sparkdeploy.core.polarity import Refusal, refusals
from airflow_provider_sparkdeploy.core.spark_builtins import (
    AGGREGATES,
    BUILTINS,
    GENERATORS,
    NONDETERMINISTIC,
    WINDOW_FUNCTIONS,
)


def members(parts: tuple[str, ...]) -> str | None:
    return f"s.{parts[-1]}" if parts[-1] in ("m", "n") and parts[:-1] in ((), ("s",)) else None


def judge(query: str, columns: str = "(a INT, b INT)") -> tuple[Refusal, ...]:
    return refusals(f"CREATE MATERIALIZED VIEW s.v {columns} AS {query}", members)


def found(query: str) -> set[tuple[str, str]]:
    return {(refusal.operator, refusal.member.removeprefix("s.")) for refusal in judge(query)}


MONOTONE = {
    # Relational algebra
    "projection and filter": "SELECT DISTINCT a, b + 1 FROM m WHERE a > 1 AND NOT (b = 2 OR b IS NULL)",
    "qualified": "SELECT DISTINCT a FROM s.m",
    "other schema": "SELECT count(*) AS a FROM x.m GROUP BY a UNION SELECT a FROM m",
    "inner join": "SELECT DISTINCT m.a, n.b FROM m JOIN n ON m.a = n.a INNER JOIN o ON o.a = n.b",
    "comma before a right join": "SELECT DISTINCT m.a FROM s.m, p RIGHT JOIN o USING (a)",
    "comma before a full join": "SELECT DISTINCT m.a FROM m JOIN n ON m.a = n.a\n, p FULL JOIN o ON p.a = o.a",
    "comma between joins": "SELECT DISTINCT m.a FROM p RIGHT JOIN m USING (a), o LEFT JOIN p x USING (a)",
    "cross join": "SELECT DISTINCT m.a FROM m CROSS JOIN n, o",
    "natural join": "SELECT DISTINCT a FROM m NATURAL JOIN n",
    "using": "SELECT DISTINCT a FROM m JOIN n USING (a)",
    "self join": "SELECT DISTINCT x.a, y.b FROM m x JOIN m y ON x.b = y.a",
    "union": "SELECT a FROM m UNION SELECT a FROM n",
    "union distinct": "SELECT a FROM m UNION DISTINCT SELECT a FROM n",
    "intersect": "SELECT a FROM m INTERSECT SELECT a FROM n",
    "minus outside": "SELECT a FROM m MINUS SELECT a FROM o",
    "except outside": "SELECT a FROM m EXCEPT SELECT a FROM o",
    "except of a union": "(SELECT a FROM m UNION ALL SELECT a FROM n) EXCEPT SELECT a FROM o",
    "union all below union": "SELECT a FROM o UNION (SELECT a FROM m UNION ALL SELECT a FROM n)",
    "union all, then union": "SELECT a FROM m UNION ALL SELECT a FROM n UNION SELECT a FROM o",
    "union all below distinct": "SELECT DISTINCT a FROM (SELECT a FROM m UNION ALL SELECT a FROM n)",
    "union all in a cte": "WITH c AS (SELECT a FROM m UNION ALL SELECT a FROM o) SELECT DISTINCT a FROM c",
    "values": "SELECT a FROM m UNION VALUES (1), (2)",
    "values in from": "SELECT DISTINCT m.a FROM m JOIN VALUES (1), (2) AS v(a) ON m.a = v.a",
    "order by": "SELECT DISTINCT a FROM m ORDER BY a",
    "limit all": "SELECT DISTINCT a FROM m LIMIT ALL",
    "parentheses": "((SELECT DISTINCT a FROM m))",
    "from first": "FROM m JOIN o ON m.a = o.a SELECT DISTINCT m.a",
    "hint": "SELECT /*+ BROADCAST(m), REPARTITION(3) */ DISTINCT a FROM m",
    "star": "SELECT DISTINCT * FROM m",
    # Joins that keep one side
    "left join, preserved": "SELECT DISTINCT m.a FROM m LEFT JOIN o ON m.a = o.a",
    "left outer join, preserved": "SELECT DISTINCT m.a FROM m LEFT OUTER JOIN o ON m.a = o.a",
    "right join, preserved": "SELECT DISTINCT m.a FROM o RIGHT JOIN m ON m.a = o.a",
    "full join outside": "SELECT DISTINCT m.a FROM m JOIN (o FULL JOIN p ON o.a = p.a) ON m.a = o.a",
    "left join in parentheses": "SELECT DISTINCT n.a FROM n JOIN (m LEFT JOIN o ON m.a = o.a) ON n.a = m.a",
    "nested on": "SELECT DISTINCT m.a FROM o RIGHT JOIN m LEFT JOIN p ON m.a = p.a ON m.a = o.a",
    "left, then inner": "SELECT DISTINCT m.a FROM m LEFT JOIN o ON m.a = o.a JOIN n ON n.a = m.a",
    "right, then inner": "SELECT DISTINCT m.a FROM o RIGHT JOIN m ON m.a = o.a JOIN n ON n.a = m.a",
    "natural left join": "SELECT DISTINCT a FROM m NATURAL LEFT JOIN o",
    "semi join": "SELECT DISTINCT m.a FROM m LEFT SEMI JOIN n ON m.a = n.a",
    "short semi join": "SELECT DISTINCT o.a FROM o SEMI JOIN n ON o.a = n.a",
    "anti join, left": "SELECT DISTINCT m.a FROM m LEFT ANTI JOIN o ON m.a = o.a",
    "short anti join, left": "SELECT DISTINCT m.a FROM m ANTI JOIN o ON m.a = o.a",
    # EXISTS and IN
    "exists": "SELECT DISTINCT a FROM o WHERE EXISTS (SELECT 1 FROM m WHERE m.a = o.a)",
    "in": "SELECT DISTINCT a FROM o WHERE a IN (SELECT a FROM m)",
    "in, two columns": "SELECT DISTINCT a FROM o WHERE (a, b) IN (SELECT a, b FROM m)",
    "exists under and, or": (
        "SELECT DISTINCT a FROM m WHERE a > 1 AND (b = 2 OR (EXISTS (SELECT 1 FROM n) AND a IN (SELECT b FROM m)))"
    ),
    "exists in on": "SELECT DISTINCT m.a FROM m JOIN o ON m.a = o.a AND EXISTS (SELECT 1 FROM n WHERE n.a = o.a)",
    "in in on of semi join": "SELECT DISTINCT o.a FROM o LEFT SEMI JOIN p ON o.a = p.a AND o.b IN (SELECT a FROM m)",
    "in in parentheses": "SELECT DISTINCT a FROM o WHERE a IN ((SELECT a FROM m))",
    "in with a cte": "SELECT DISTINCT a FROM o WHERE a IN (WITH c AS (SELECT a FROM m) SELECT a FROM c)",
    "not exists outside": "SELECT DISTINCT a FROM m WHERE NOT EXISTS (SELECT 1 FROM o WHERE o.a = m.a)",
    "not in outside": "SELECT DISTINCT a FROM m WHERE a NOT IN (SELECT a FROM o)",
    "not in a list": "SELECT DISTINCT a FROM m WHERE a NOT IN (1, 2)",
    "case of exists outside": "SELECT DISTINCT CASE WHEN EXISTS (SELECT 1 FROM o) THEN a END AS a FROM m",
    # Over tables outside the component anything goes
    "scalar outside": "SELECT DISTINCT a FROM m WHERE a >= (SELECT max(b) FROM o)",
    "correlated scalar outside": "SELECT DISTINCT a, (SELECT max(b) FROM o WHERE o.a = m.a) AS b FROM m",
    "aggregate outside": "SELECT DISTINCT m.a FROM m JOIN (SELECT a, count(*) AS k FROM o GROUP BY a) c ON c.a = m.a",
    "aggregate in a cte outside": (
        "WITH c AS (SELECT a, count(*) AS k FROM o GROUP BY a HAVING count(*) > 1) "
        "SELECT DISTINCT m.a FROM m LEFT JOIN c ON c.a = m.a"
    ),
    "window outside": (
        "WITH c AS (SELECT a, row_number() OVER (ORDER BY b) AS k FROM o) SELECT a FROM m UNION SELECT a FROM c"
    ),
    "limit outside": "SELECT a FROM m UNION (SELECT a FROM o ORDER BY a LIMIT 3)",
    "sample outside": "SELECT DISTINCT m.a FROM m JOIN o TABLESAMPLE (10 PERCENT) ON m.a = o.a",
    "time travel outside": "SELECT DISTINCT m.a FROM m JOIN o VERSION AS OF 3 ON m.a = o.a",
    "pivot outside": "SELECT a FROM m UNION SELECT x FROM (SELECT * FROM o PIVOT (sum(a) FOR b IN (1 AS x, 2 AS y)))",
    "full join outside, in a cte": (
        "WITH c AS (SELECT o.a FROM o FULL JOIN p ON o.a = p.a) SELECT m.a FROM m JOIN c ON m.a = c.a INTERSECT "
        "SELECT a FROM m"
    ),
    "union all outside": "SELECT a FROM m UNION SELECT a FROM (SELECT a FROM o INTERSECT ALL SELECT a FROM p)",
    "rand outside": "WITH c AS (SELECT a FROM o WHERE rand() < 0.5) SELECT DISTINCT m.a FROM m JOIN c ON m.a = c.a",
    "unknown function outside": "SELECT DISTINCT m.a FROM m JOIN (SELECT my_udf(a) AS a FROM o) c ON m.a = c.a",
    "recursive cte outside": (
        "WITH RECURSIVE r (a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM r WHERE a < 9) "
        "SELECT DISTINCT m.a FROM m JOIN r ON m.a = r.a"
    ),
    "recursive, but not this one": (
        "WITH RECURSIVE r AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM r WHERE a < 9), c AS (SELECT a FROM m) "
        "SELECT DISTINCT c.a FROM c JOIN r ON c.a = r.a"
    ),
    # CTE, LATERAL, subqueries
    "cte": "WITH c AS (SELECT a FROM m) SELECT DISTINCT a FROM c",
    "cte chain": "WITH c AS (SELECT a FROM m), d AS (SELECT a FROM c) SELECT a FROM d UNION SELECT a FROM c",
    "cte that hides its own name": "WITH m AS (SELECT a FROM m) SELECT DISTINCT a FROM m",
    "cte that hides a member": "WITH m AS (SELECT count(*) AS a FROM o) SELECT a FROM m UNION SELECT a FROM n",
    "inner cte hides the outer": (
        "WITH c AS (SELECT count(*) AS a FROM m) SELECT DISTINCT a FROM (WITH c AS (SELECT a FROM n) SELECT a FROM c)"
    ),
    "cte without a use": "WITH c AS (SELECT count(*) AS a FROM m) SELECT DISTINCT a FROM m",
    "cte over outside, negative": (
        "WITH c AS (SELECT a FROM o) SELECT DISTINCT a FROM m WHERE NOT EXISTS (SELECT 1 FROM c WHERE c.a = m.a)"
    ),
    "lateral": "SELECT DISTINCT v.a FROM o, LATERAL (SELECT a FROM m WHERE m.a = o.a) v",
    "left lateral outside": "SELECT DISTINCT m.a FROM m LEFT JOIN LATERAL (SELECT max(b) AS b FROM o WHERE o.a = m.a) v",
    "lateral aggregate outside": "SELECT DISTINCT v.k FROM m, LATERAL (SELECT count(*) AS k FROM o WHERE o.a = m.a) v",
    # Functions of one row
    "scalar functions": "SELECT DISTINCT coalesce(a, nvl(b, 1)), upper(trim(c)), cast(a AS DATE), a::INT FROM m",
    "higher-order functions": (
        "SELECT DISTINCT transform(a, x -> x + 1), filter(a, x -> x > 1), aggregate(a, 0, (y, x) -> y + x) FROM m "
        "WHERE exists(a, x -> x > 1) AND NOT forall(b, x -> x > 1)"
    ),
    "lateral view": "SELECT DISTINCT x FROM m LATERAL VIEW explode(a) e AS x",
    "lateral view outer": "SELECT DISTINCT x FROM m LATERAL VIEW OUTER posexplode(a) e AS p, x",
    "lateral generator": "SELECT DISTINCT x FROM m, LATERAL explode(m.a) AS e(x)",
    "explode": "SELECT DISTINCT explode(a) FROM m",
    "unpivot": "SELECT DISTINCT v FROM m UNPIVOT (v FOR k IN (a, b))",
    "range": "SELECT DISTINCT a FROM m JOIN range(10) r ON r.id = m.a",
    "like any": "SELECT DISTINCT a FROM m WHERE a LIKE ANY ('x', 'y') OR a LIKE ALL ('z') OR NOT a RLIKE 'q'",
    "time window": "SELECT DISTINCT window(a, '1 hour').start FROM m",
    "case": "SELECT DISTINCT CASE WHEN a > 1 THEN b ELSE if(b > 1, a, b) END FROM m",
    "unix_timestamp of a value": "SELECT DISTINCT unix_timestamp(a) FROM m",
    # GROUP BY as DISTINCT
    "group by": "SELECT a, b FROM m GROUP BY a, b",
    "group by other case": "SELECT A, `b` FROM m GROUP BY a, B",
    "group by all": "SELECT a, b + 1 FROM m GROUP BY ALL",
    "group by position": "SELECT a + 1, b FROM m GROUP BY 1, 2",
    "group by expression": "SELECT a + 1 AS k FROM m GROUP BY a + 1",
    "group by alias": "SELECT a + 1 AS k, b FROM m GROUP BY k, b",
    "group by alias, of a table": "SELECT k.a + 1 AS k FROM m k GROUP BY k",
    "group by qualified": "SELECT m.a, b FROM m JOIN o ON m.a = o.c GROUP BY a, m.b",
    "group by star": "SELECT * FROM m GROUP BY a, b",
    "group by tuple": "SELECT a, b FROM m GROUP BY (a, b)",
    "group by and more items": "SELECT a, a + 1 FROM m GROUP BY a",
    "group by inside": "SELECT DISTINCT a FROM (SELECT a FROM m GROUP BY a, b)",
}

REFUSED = {
    # The sides of joins
    "left join": ("SELECT DISTINCT o.a FROM o LEFT JOIN m ON m.a = o.a", {("LEFT JOIN", "m")}),
    "left join, self": ("SELECT DISTINCT x.a FROM m x LEFT JOIN m y ON x.a = y.b", {("LEFT JOIN", "m")}),
    "left join of two members": ("SELECT DISTINCT m.a FROM m LEFT JOIN n ON m.a = n.a", {("LEFT JOIN", "n")}),
    "right join": ("SELECT DISTINCT o.a FROM m RIGHT JOIN o ON m.a = o.a", {("RIGHT JOIN", "m")}),
    "right join behind a comma": ("SELECT DISTINCT o.a FROM o, m RIGHT JOIN p USING (a)", {("RIGHT JOIN", "m")}),
    "left join behind a comma": ("SELECT DISTINCT o.a FROM m, o LEFT JOIN n USING (a)", {("LEFT JOIN", "n")}),
    "cross join before a right join": ("SELECT DISTINCT o.a FROM m CROSS JOIN p RIGHT JOIN o USING (a)", {("RIGHT JOIN", "m")}),
    "right join before a comma": ("SELECT DISTINCT o.a FROM m RIGHT JOIN p USING (a), o", {("RIGHT JOIN", "m")}),
    "full join": ("SELECT DISTINCT m.a FROM m FULL JOIN o ON m.a = o.a", {("FULL JOIN", "m")}),
    "full outer join, right": ("SELECT DISTINCT m.a FROM o FULL OUTER JOIN m ON m.a = o.a", {("FULL JOIN", "m")}),
    "full join, both": (
        "SELECT DISTINCT m.a FROM m FULL JOIN n USING (a)",
        {("FULL JOIN", "m"), ("FULL JOIN", "n")},
    ),
    "natural left join": ("SELECT DISTINCT a FROM o NATURAL LEFT JOIN m", {("LEFT JOIN", "m")}),
    "chain, right join last": (
        "SELECT DISTINCT p.a FROM m LEFT JOIN o ON m.a = o.a JOIN n ON n.a = m.a RIGHT JOIN p ON p.a = m.a",
        {("RIGHT JOIN", "m"), ("RIGHT JOIN", "n")},
    ),
    "chain, two sides": (
        "SELECT DISTINCT p.a FROM o LEFT JOIN m ON m.a = o.a RIGHT JOIN p ON p.a = m.a",
        {("LEFT JOIN", "m"), ("RIGHT JOIN", "m")},
    ),
    "left join of parentheses": (
        "SELECT DISTINCT o.a FROM o LEFT JOIN (p JOIN m ON m.a = p.a) ON o.a = p.a",
        {("LEFT JOIN", "m")},
    ),
    "nested on": (
        "SELECT DISTINCT o.a FROM o LEFT JOIN p JOIN m ON m.a = p.a ON o.a = p.a",
        {("LEFT JOIN", "m")},
    ),
    "left join of a subquery": (
        "SELECT DISTINCT o.a FROM o LEFT JOIN (SELECT a FROM m) x ON x.a = o.a",
        {("LEFT JOIN", "m")},
    ),
    "left join in a cte": (
        "WITH c AS (SELECT o.a FROM o LEFT JOIN m ON m.a = o.a) SELECT DISTINCT a FROM c",
        {("LEFT JOIN", "m")},
    ),
    "left join of a cte": (
        "WITH c AS (SELECT a FROM m) SELECT DISTINCT o.a FROM o LEFT JOIN c ON c.a = o.a",
        {("LEFT JOIN", "m")},
    ),
    "left join lateral": (
        "SELECT DISTINCT o.a FROM o LEFT JOIN LATERAL (SELECT a FROM m WHERE m.a = o.a) v ON true",
        {("LEFT JOIN", "m")},
    ),
    "from first, left join": ("FROM o LEFT JOIN m ON m.a = o.a SELECT DISTINCT o.a", {("LEFT JOIN", "m")}),
    "anti join": ("SELECT DISTINCT o.a FROM o LEFT ANTI JOIN m ON m.a = o.a", {("LEFT ANTI JOIN", "m")}),
    "short anti join": ("SELECT DISTINCT m.a FROM m ANTI JOIN n ON m.a = n.a", {("LEFT ANTI JOIN", "n")}),
    "exists in on of left join": (
        "SELECT DISTINCT o.a FROM o LEFT JOIN p ON o.a = p.a AND EXISTS (SELECT 1 FROM m)",
        {("LEFT JOIN", "m")},
    ),
    "in in on of anti join": (
        "SELECT DISTINCT o.a FROM o ANTI JOIN p ON o.a = p.a AND p.a IN (SELECT a FROM m)",
        {("LEFT ANTI JOIN", "m")},
    ),
    "unknown join": ("SELECT DISTINCT o.a FROM o ASOF JOIN m", {("ASOF JOIN", "m")}),
    "right semi join": ("SELECT DISTINCT m.a FROM o RIGHT SEMI JOIN m ON true", {("RIGHT SEMI JOIN", "m")}),
    # Set operations
    "except": ("SELECT a FROM o EXCEPT SELECT a FROM m", {("EXCEPT", "m")}),
    "minus": ("SELECT a FROM m MINUS SELECT a FROM n", {("EXCEPT", "n")}),
    "intersect binds first": ("SELECT a FROM o EXCEPT SELECT a FROM p INTERSECT SELECT a FROM m", {("EXCEPT", "m")}),
    "except all": ("SELECT a FROM m EXCEPT ALL SELECT a FROM o", {("EXCEPT ALL", "m")}),
    "intersect all": (
        "SELECT DISTINCT a FROM (SELECT a FROM m INTERSECT ALL SELECT a FROM o)",
        {("INTERSECT ALL", "m")},
    ),
    "limit of a union": ("SELECT a FROM m UNION SELECT a FROM o LIMIT 3", {("LIMIT", "m")}),
    # Negation
    "not exists": ("SELECT DISTINCT a FROM o WHERE NOT EXISTS (SELECT 1 FROM m)", {("NOT EXISTS", "m")}),
    "not exists, in parentheses": ("SELECT DISTINCT a FROM o WHERE NOT (EXISTS (SELECT 1 FROM m))", {("NOT EXISTS", "m")}),
    "not exists, left is fine": (
        "SELECT DISTINCT a FROM m WHERE NOT EXISTS (SELECT 1 FROM n WHERE n.a = m.a)",
        {("NOT EXISTS", "n")},
    ),
    "bang exists": ("SELECT DISTINCT a FROM o WHERE !exists(SELECT 1 FROM m)", {("NOT EXISTS", "m")}),
    "not in": ("SELECT DISTINCT a FROM o WHERE a NOT IN (SELECT a FROM m)", {("NOT IN", "m")}),
    "not of in": ("SELECT DISTINCT a FROM o WHERE NOT a IN (SELECT a FROM m)", {("NOT IN", "m")}),
    "not of or": ("SELECT DISTINCT a FROM o WHERE NOT (a > 1 OR EXISTS (SELECT 1 FROM m))", {("NOT", "m")}),
    "two negations": (
        "SELECT DISTINCT a FROM o WHERE NOT EXISTS (SELECT 1 FROM p WHERE NOT EXISTS (SELECT 1 FROM m))",
        {("NOT EXISTS", "m")},
    ),
    "not not": ("SELECT DISTINCT a FROM o WHERE NOT (NOT (a IN (SELECT a FROM m)))", {("NOT IN", "m")}),
    "cte in not exists": (
        "WITH c AS (SELECT a FROM m) SELECT DISTINCT a FROM o WHERE NOT EXISTS (SELECT 1 FROM c WHERE c.a = o.a)",
        {("NOT EXISTS", "m")},
    ),
    "cte used twice": (
        "WITH c AS (SELECT a FROM m) SELECT a FROM c UNION SELECT a FROM o WHERE a NOT IN (SELECT a FROM c)",
        {("NOT IN", "m")},
    ),
    # EXISTS and IN as values
    "exists selected": ("SELECT DISTINCT EXISTS (SELECT 1 FROM m) AS a FROM o", {("EXISTS", "m")}),
    "exists in case": ("SELECT DISTINCT CASE WHEN EXISTS (SELECT 1 FROM m) THEN 1 END AS a FROM o", {("EXISTS", "m")}),
    "exists in case in where": (
        "SELECT DISTINCT a FROM o WHERE CASE WHEN EXISTS (SELECT 1 FROM m) THEN a ELSE b END > 1",
        {("EXISTS", "m")},
    ),
    "exists compared": ("SELECT DISTINCT a FROM o WHERE EXISTS (SELECT 1 FROM m) = (a > 1)", {("EXISTS", "m")}),
    "in is null": ("SELECT DISTINCT a FROM o WHERE (a IN (SELECT a FROM m)) IS NULL", {("IN", "m")}),
    "in in coalesce": ("SELECT DISTINCT a FROM o WHERE coalesce(a IN (SELECT a FROM m), true)", {("IN", "m")}),
    "exists in order by": ("SELECT DISTINCT a FROM o ORDER BY EXISTS (SELECT 1 FROM m)", {("EXISTS", "m")}),
    "any of a subquery": ("SELECT DISTINCT a FROM o WHERE a = ANY (SELECT a FROM m)", {("ANY subquery", "m")}),
    # Scalar subqueries
    "scalar": ("SELECT DISTINCT (SELECT a FROM m) AS a FROM o", {("scalar subquery", "m")}),
    "scalar in where": (
        "SELECT DISTINCT a FROM o WHERE a > (SELECT max(a) FROM m)",
        {("scalar subquery", "m"), ("aggregate MAX", "m")},
    ),
    "scalar in in": ("SELECT DISTINCT a FROM o WHERE (SELECT a FROM m) IN (SELECT a FROM n)", {("scalar subquery", "m")}),
    "scalar in a list": ("SELECT DISTINCT a FROM o WHERE a IN (1, (SELECT a FROM m))", {("scalar subquery", "m")}),
    "scalar as condition": ("SELECT DISTINCT a FROM o WHERE (SELECT b FROM m)", {("scalar subquery", "m")}),
    "scalar in values": ("SELECT a FROM n UNION VALUES ((SELECT a FROM m))", {("scalar subquery", "m")}),
    # Aggregates
    "count": ("SELECT count(*) AS a FROM m", {("aggregate COUNT", "m")}),
    "sum with group by": ("SELECT a, sum(b) AS b FROM m GROUP BY a", {("aggregate SUM", "m")}),
    "aggregate, distinct": ("SELECT DISTINCT max(a) FROM m", {("aggregate MAX", "m")}),
    "aggregate in a cte": (
        "WITH c AS (SELECT a, count(*) AS k FROM m GROUP BY a) SELECT DISTINCT a FROM c",
        {("aggregate COUNT", "m")},
    ),
    "aggregate of a cte": (
        "WITH c AS (SELECT a FROM m), d AS (SELECT a FROM c) SELECT DISTINCT x FROM (SELECT sum(a) AS x FROM d)",
        {("aggregate SUM", "m")},
    ),
    "aggregate of a subquery": (
        "SELECT DISTINCT k FROM (SELECT count(*) AS k FROM (SELECT a FROM m) x)",
        {("aggregate COUNT", "m")},
    ),
    "aggregate with filter": ("SELECT count(*) FILTER (WHERE a > 1) AS a FROM m", {("aggregate COUNT", "m")}),
    "aggregate in exists": (
        "SELECT DISTINCT a FROM o WHERE EXISTS (SELECT count(*) FROM m)",
        {("aggregate COUNT", "m")},
    ),
    "aggregate where a member filters": (
        "SELECT DISTINCT k FROM (SELECT count(*) AS k FROM o WHERE a IN (SELECT a FROM m))",
        {("aggregate COUNT", "m")},
    ),
    "aggregate in order by": (
        "SELECT a FROM m GROUP BY a ORDER BY count(*)",
        {("aggregate COUNT", "m")},
    ),
    "first, ignoring nulls": ("SELECT first(a) IGNORE NULLS AS a FROM m", {("aggregate FIRST", "m")}),
    "within group": (
        "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY a) AS a FROM m",
        {("aggregate PERCENTILE_CONT", "m")},
    ),
    "any": ("SELECT any(a > 1) AS a FROM m", {("aggregate ANY", "m")}),
    "collect_list": ("SELECT a, collect_list(b) AS b FROM m GROUP BY a", {("aggregate COLLECT_LIST", "m")}),
    "having": ("SELECT a FROM m GROUP BY a HAVING a > 1", {("HAVING", "m")}),
    "having, counted": (
        "SELECT a FROM m GROUP BY a HAVING count(*) > 1",
        {("HAVING", "m"), ("aggregate COUNT", "m")},
    ),
    "rollup": ("SELECT DISTINCT a FROM m GROUP BY ROLLUP (a, b)", {("ROLLUP", "m")}),
    "with cube": ("SELECT DISTINCT a FROM m GROUP BY a, b WITH CUBE", {("CUBE", "m")}),
    "grouping sets": ("SELECT DISTINCT a FROM m GROUP BY GROUPING SETS ((a), ())", {("GROUPING SETS", "m")}),
    "group by nothing": ("SELECT DISTINCT 1 AS a FROM m GROUP BY ()", {("GROUP BY ()", "m")}),
    "session window": (
        "SELECT DISTINCT session_window(a, '5 minutes') FROM m GROUP BY session_window(a, '5 minutes')",
        {("aggregate SESSION_WINDOW", "m")},
    ),
    "pivot": ("SELECT DISTINCT * FROM m PIVOT (sum(a) FOR b IN (1, 2))", {("PIVOT", "m")}),
    "pivot of a join": ("SELECT DISTINCT * FROM m JOIN o ON true PIVOT (sum(a) FOR b IN (1))", {("PIVOT", "m")}),
    "pivot of a list": ("SELECT DISTINCT * FROM m, o PIVOT (sum(a) FOR b IN (1))", {("PIVOT", "m")}),
    # Windows, LIMIT, samples
    "window": ("SELECT DISTINCT a, row_number() OVER (ORDER BY b) AS b FROM m", {("window", "m")}),
    "window aggregate": ("SELECT DISTINCT sum(a) OVER (PARTITION BY b) AS a FROM m", {("window", "m")}),
    "window with filter": ("SELECT DISTINCT sum(a) FILTER (WHERE b > 1) OVER () AS a FROM m", {("window", "m")}),
    "window over an aggregate": (
        "SELECT DISTINCT sum(count(*)) OVER () AS a FROM m GROUP BY b",
        {("window", "m"), ("aggregate COUNT", "m")},
    ),
    "named window": ("SELECT DISTINCT lag(a) OVER w AS a FROM m WINDOW w AS (ORDER BY b)", {("window", "m")}),
    "qualify": ("SELECT DISTINCT a FROM m QUALIFY rank() OVER (ORDER BY b) = 1", {("window", "m")}),
    "limit": ("SELECT DISTINCT a FROM m LIMIT 3", {("LIMIT", "m")}),
    "offset": ("SELECT DISTINCT a FROM m OFFSET 3", {("OFFSET", "m")}),
    "limit in a subquery": ("SELECT DISTINCT a FROM (SELECT a FROM m ORDER BY a LIMIT 3)", {("LIMIT", "m")}),
    "limit of a cte": ("WITH c AS (SELECT a FROM m) SELECT a FROM n UNION (SELECT a FROM c LIMIT 1)", {("LIMIT", "m")}),
    "limit in exists": ("SELECT DISTINCT a FROM o WHERE EXISTS (SELECT 1 FROM m LIMIT 1)", {("LIMIT", "m")}),
    "limit of parentheses": ("(SELECT DISTINCT a FROM m) LIMIT 2", {("LIMIT", "m")}),
    "tablesample": ("SELECT DISTINCT a FROM m TABLESAMPLE (10 PERCENT)", {("TABLESAMPLE", "m")}),
    "tablesample of a subquery": (
        "SELECT DISTINCT a FROM (SELECT a FROM m) TABLESAMPLE (5 ROWS)",
        {("TABLESAMPLE", "m")},
    ),
    "distinct on": ("SELECT DISTINCT ON (a) a FROM m", {("DISTINCT ON", "m"), ("SELECT without DISTINCT", "")}),
    # Unknown and non-deterministic
    "rand": ("SELECT DISTINCT a FROM m WHERE rand() < 0.5", {("non-deterministic RAND", "m")}),
    "uuid": ("SELECT a FROM o UNION SELECT uuid() FROM m", {("non-deterministic UUID", "m")}),
    "current_date": ("SELECT DISTINCT a FROM m WHERE b < current_date", {("non-deterministic CURRENT_DATE", "m")}),
    "now": ("SELECT DISTINCT a FROM m WHERE b < now()", {("non-deterministic NOW", "m")}),
    "localtimestamp": ("SELECT DISTINCT localtimestamp() AS a FROM m", {("non-deterministic LOCALTIMESTAMP", "m")}),
    "current_time": ("SELECT DISTINCT current_time AS a FROM m", {("non-deterministic CURRENT_TIME", "m")}),
    "unix_timestamp of now": (
        "SELECT DISTINCT a FROM m WHERE b < unix_timestamp()",
        {("non-deterministic CURRENT_TIMESTAMP", "m")},
    ),
    "rand through a cte": (
        "WITH c AS (SELECT a FROM m) SELECT DISTINCT a + rand() FROM c",
        {("non-deterministic RAND", "m")},
    ),
    "rand in on": ("SELECT DISTINCT m.a FROM m JOIN o ON rand() < 0.5", {("non-deterministic RAND", "m")}),
    "rand in lateral": ("SELECT DISTINCT v.u FROM m, LATERAL (SELECT uuid() AS u) v", {("non-deterministic UUID", "m")}),
    "rand in a scalar": ("SELECT DISTINCT a + (SELECT rand()) FROM m", {("non-deterministic RAND", "m")}),
    "unknown function": ("SELECT DISTINCT my_udf(a) FROM m", {("unknown function my_udf", "m")}),
    "function of a schema": ("SELECT DISTINCT s.upper(a) FROM m", {("unknown function s.upper", "m")}),
    "known to the parser, not to spark": ("SELECT DISTINCT sha1_digest(a) FROM m", {("unknown function sha1_digest", "m")}),
    "parsed apart, not by spark": ("SELECT DISTINCT normalize(a) FROM m", {("unknown function normalize", "m")}),
    "unknown generator": ("SELECT DISTINCT x FROM m LATERAL VIEW my_gen(a) e AS x", {("unknown function my_gen", "m")}),
    "unknown table function": ("SELECT DISTINCT x FROM m, LATERAL my_udtf(m.a) AS e(x)", {("unknown function my_udtf", "m")}),
    "table given to a function": (
        "SELECT DISTINCT a FROM my_udtf(TABLE(m))",
        {("table function my_udtf", "m"), ("unknown function my_udtf", "m")},
    ),
    "query given to a function": (
        "SELECT DISTINCT a FROM my_udtf(TABLE(SELECT a FROM m))",
        {("table function my_udtf", "m"), ("unknown function my_udtf", "m")},
    ),
    "stream": ("SELECT DISTINCT a FROM stream(m)", {("table function stream", "m"), ("unknown function stream", "m")}),
    "transform by a script": ("SELECT DISTINCT x FROM (SELECT TRANSFORM (a) USING 'cat' FROM m)", {("TRANSFORM", "m")}),
    "time travel": ("SELECT DISTINCT a FROM m VERSION AS OF 3", {("time travel", "m")}),
    "time travel by time": ("SELECT DISTINCT a FROM m TIMESTAMP AS OF '2020-01-01'", {("time travel", "m")}),
    "time travel by a mark": ("SELECT DISTINCT a FROM m@v1", {("time travel", "m")}),
    "identifier": ("SELECT DISTINCT a FROM identifier('m')", {("IDENTIFIER", "")}),
    "limit by a member": (
        "SELECT a FROM n UNION (SELECT a FROM o LIMIT (SELECT a FROM m))",
        {("LIMIT", "m"), ("scalar subquery", "m")},
    ),
    "time travel by a member": (
        "SELECT DISTINCT o.a FROM o TIMESTAMP AS OF (SELECT a FROM m)",
        {("scalar subquery", "m")},
    ),
    "bang in": ("SELECT DISTINCT a FROM o WHERE !a IN (SELECT a FROM m)", {("NOT IN", "m")}),
    "left join after values": ("SELECT DISTINCT 1 AS a FROM VALUES (1) LEFT JOIN m ON true", {("LEFT JOIN", "m")}),
    "left join after a function": ("SELECT DISTINCT id FROM range(3) LEFT JOIN m ON true", {("LEFT JOIN", "m")}),
    "select into": ("SELECT DISTINCT a INTO x FROM m", {("SELECT ... INTO", "m")}),
    "recursive cte": (
        "WITH RECURSIVE r AS (SELECT a FROM m UNION ALL SELECT a + 1 FROM r) SELECT DISTINCT a FROM r",
        {("recursive CTE", "m")},
    ),
    "pipe": ("FROM m |> DISTINCT |> SELECT a", {("|>", "")}),
    "not parsed": ("SELECT DISTINCT a FROM m WHERE", {("unparsed", "")}),
    "no query": ("TABLE m", {("unparsed", "")}),
    # Bags
    "bag": ("SELECT a FROM m", {("SELECT without DISTINCT", "")}),
    "bag of a distinct cte": ("WITH c AS (SELECT DISTINCT a FROM m) SELECT a FROM c", {("SELECT without DISTINCT", "")}),
    "union all": ("SELECT a FROM m UNION ALL SELECT a FROM o", {("UNION ALL", "")}),
    "union all at the end": ("SELECT a FROM m UNION SELECT a FROM o UNION ALL SELECT a FROM n", {("UNION ALL", "")}),
    "union all in parentheses": ("(SELECT DISTINCT a FROM m UNION ALL SELECT a FROM o)", {("UNION ALL", "")}),
    "one row, twice": (
        "SELECT a, (SELECT max(a) FROM o) FROM m",
        {("SELECT without DISTINCT", "")},
    ),
    "group by, key missing": ("SELECT a FROM m GROUP BY a, b", {("GROUP BY", "")}),
    "group by, key changed": ("SELECT a % 2 FROM m GROUP BY a", {("GROUP BY", "")}),
    "group by, literal of other case": ("SELECT a = 'X' FROM m GROUP BY a = 'x'", {("GROUP BY", "")}),
    "group by, alias of another key": ("SELECT a AS b FROM m GROUP BY b, a", {("GROUP BY", "")}),
    "group by, alias made of keys": ("SELECT a, a + 1 AS b FROM m GROUP BY b, a", {("GROUP BY", "")}),
    "group by, position of a star": ("SELECT *, a FROM m GROUP BY 1, 2", {("GROUP BY", "")}),
    "group by, position too high": ("SELECT a FROM m GROUP BY 1, 2", {("GROUP BY", "")}),
    "group by, alias made of the key": ("SELECT abs(a) AS a FROM m GROUP BY a", {("GROUP BY", "")}),
    "group by, day of the key": ("SELECT date_trunc('day', a) AS a FROM m GROUP BY a", {("GROUP BY", "")}),
    "group by, default of the key": ("SELECT coalesce(a, 0) a FROM m GROUP BY a", {("GROUP BY", "")}),
    "group by, rest of the key": ("SELECT a % 2 AS a FROM m GROUP BY a", {("GROUP BY", "")}),
    "group by, cast of the key": ("SELECT cast(m.a AS int) a FROM m GROUP BY a", {("GROUP BY", "")}),
    "group by, key in other case": ("SELECT lower(a) AS A FROM m GROUP BY a", {("GROUP BY", "")}),
    "group by, field of the key": ("SELECT a.f AS a FROM m GROUP BY a", {("GROUP BY", "")}),
    "group by, through another alias": ("SELECT abs(a) AS k, k AS a FROM m GROUP BY a", {("GROUP BY", "")}),
    "group by, merged column": ("SELECT m.a FROM o RIGHT JOIN m USING (a) GROUP BY a, m.a", {("GROUP BY", "")}),
    "group by, field of a struct": ("SELECT x.a, x FROM m GROUP BY a, x", {("GROUP BY", "")}),
    "group by, star without a column": ("SELECT * EXCEPT (a) FROM m GROUP BY a, b", {("GROUP BY", "")}),
    "group by, exploded": ("SELECT a, explode(a) FROM m GROUP BY a", {("GROUP BY", "")}),
    "group by, made into rows": ("SELECT a, inline_outer(a) FROM m GROUP BY ALL", {("GROUP BY", "")}),
    "values": ("VALUES (1), (1)", {("VALUES", "")}),
    # Several at once
    "all problems": (
        "SELECT count(*) AS a FROM o LEFT JOIN m ON m.a = o.a WHERE o.a NOT IN (SELECT a FROM n) LIMIT 1",
        {
            ("aggregate COUNT", "m"), ("LEFT JOIN", "m"), ("LIMIT", "m"),
            ("aggregate COUNT", "n"), ("NOT IN", "n"), ("LIMIT", "n"),
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("query", MONOTONE.values(), ids=MONOTONE)
def test_monotone(query: str) -> None:
    assert judge(query) == ()


@pytest.mark.parametrize(("query", "expected"), REFUSED.values(), ids=REFUSED)
def test_refused(query: str, expected: set[tuple[str, str]]) -> None:
    assert found(query) == expected


@pytest.mark.parametrize(
    "value",
    [
        "TIMESTAMP 'now'",
        "DATE 'today'",
        "CAST('NOW' AS timestamp)",
        "'now'::timestamp",
        "try_cast(' now ' AS date)",
        "date('yesterday')",
        "timestamp('now')",
        "to_date('today')",
        "to_timestamp('now')",
        "CAST('no' || 'w' AS timestamp)",
        "date_add('today', 1)",
        "year('tomorrow')",
        "coalesce(b, 'now')",
        "CASE WHEN a = 1 THEN b ELSE 'now' END",
        "if(a = 1, 'now', b)",
        "timestamp_ntz 'now'",
        "b < 'now'",
        "b BETWEEN 'epoch' AND 'today'",
        "b IN ('today')",
    ],
)
def test_a_text_that_becomes_the_clock(value: str) -> None:
    """As Spark reads it: what a date is made of, or stands beside one."""
    for query in (
        f"SELECT DISTINCT {value} AS v FROM m",
        f"SELECT DISTINCT a FROM m WHERE ({value}) IS NULL",
    ):
        ((operator, member),) = found(query)
        assert operator.startswith("non-deterministic '")
        assert member == "m"
    assert (
        judge(f"WITH c AS (SELECT {value} AS v FROM o) SELECT DISTINCT m.a FROM m JOIN c ON m.a = c.v") == ()
    )


@pytest.mark.parametrize(
    "value",
    [
        "TIMESTAMP 'epoch'",
        "DATE '2020-01-01'",
        "CAST('now' AS string)",
        "'today'",
        "upper('now')",
        "CASE WHEN a = 1 THEN 'today' ELSE 'later' END",
        "CASE WHEN a = 1 THEN 'today' END",
        "b LIKE 'now'",
        "concat('now', a)",
        "CAST('knowhow' AS date)",
    ],
)
def test_a_text_that_stays_one(value: str) -> None:
    assert judge(f"SELECT DISTINCT {value} AS v FROM m") == ()


@pytest.mark.parametrize(
    "column",
    ["_metadata.file_path", "m._metadata.file_modification_time", "_metadata", "s.m._METADATA.row_index"],
)
def test_the_files_of_a_pass_are_not_those_of_the_next(column: str) -> None:
    assert found(f"SELECT DISTINCT a, {column} AS b FROM s.m") == {("non-deterministic _METADATA", "m")}


@pytest.mark.parametrize(("query", "_"), REFUSED.values(), ids=REFUSED)
def test_every_message_is_for_people(query: str, _: object) -> None:
    for refusal in judge(query):
        assert refusal.reason.endswith(".")
        assert "{" not in refusal.reason
        assert refusal.member in refusal.reason
        assert not refusal.advice or refusal.advice.endswith((".", "..."))


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ("(a INT, b STRING NOT NULL COMMENT 'x')", []),
        ("(a INT, CONSTRAINT k PRIMARY KEY (a))", []),
        ("(a STRUCT<x: ARRAY<INT>>, b DECIMAL(10, 2), c INTERVAL DAY)", []),
        ("", ["columns"]),
        ("(a, b)", ["columns"]),
        ("(a COMMENT 'x')", ["columns"]),
        ("(a INT, b)", ["columns"]),
        ("(a MAP<STRING, INT>)", ["MAP column"]),
        ("(a INT, b STRUCT<x: ARRAY<MAP<INT, INT>>>)", ["MAP column"]),
        ("(a VARIANT)", ["VARIANT column"]),
        ("(a, b MAP<INT, INT>)", ["columns", "MAP column"]),
    ],
)
def test_declared_columns(columns: str, expected: list[str]) -> None:
    assert [refusal.operator for refusal in judge("SELECT DISTINCT a FROM m", columns)] == expected


@pytest.mark.parametrize(
    "head",
    [
        "CREATE OR REPLACE MATERIALIZED VIEW s.v (a INT)",
        "CREATE MATERIALIZED VIEW IF NOT EXISTS c.s.v (a INT) COMMENT 'x' PARTITIONED BY (a)",
        "create view v (a int)",
        "CREATE MATERIALIZED VIEW v (a INT) USING parquet TBLPROPERTIES ('k' = 'v')",
    ],
)
def test_heads(head: str) -> None:
    assert refusals(f"{head} AS SELECT DISTINCT a FROM m", members) == ()
    assert [r.operator for r in refusals(f"{head} AS SELECT DISTINCT a FROM m LIMIT 1", members)] == ["LIMIT"]


def test_position_is_that_of_the_reference() -> None:
    sql = "CREATE MATERIALIZED VIEW v (a INT) AS -- été 😀\nSELECT DISTINCT a FROM o\nWHERE NOT EXISTS (SELECT 1 FROM s.m)"
    (refusal,) = refusals(sql, members)
    assert sql[refusal.position :] == "s.m)"


def test_the_way_out_of_union_all() -> None:
    (refusal,) = judge("SELECT a FROM m UNION ALL SELECT a FROM n")
    assert refusal.advice == "Use UNION."


def test_a_cte_is_named() -> None:
    (refusal,) = judge(
        "WITH c AS (SELECT a FROM m), D AS (SELECT a FROM c) SELECT a FROM o EXCEPT SELECT a FROM d"
    )
    assert refusal.reason.endswith("It is read through the CTE D, c.")


def test_every_reference_is_reported_in_the_order_of_the_text() -> None:
    refused = judge(
        "SELECT DISTINCT o.a FROM o LEFT JOIN n ON n.a = o.a LEFT JOIN m ON m.a = o.a LEFT JOIN n AS k ON true"
    )
    assert [refusal.member for refusal in refused] == ["s.n", "s.m", "s.n"]
    assert judge("SELECT DISTINCT a FROM m") == judge("SELECT DISTINCT a FROM m")


def test_names_are_asked_for_as_written_and_folded() -> None:
    asked: list[tuple[str, ...]] = []

    def ask(parts: tuple[str, ...]) -> None:
        asked.append(parts)

    refusals(
        "CREATE VIEW v (a INT) AS WITH C AS (SELECT 1 FROM X) SELECT count(*) FROM `My.S`.T, c, a.b.D", ask
    )
    assert sorted(asked) == [("a", "b", "d"), ("my.s", "t"), ("x",)]


def test_long_queries() -> None:
    unions = " UNION ".join(f"SELECT a FROM m WHERE a = {number}" for number in range(150))
    assert judge(unions) == ()
    ctes = ", ".join(
        f"c{n} AS (SELECT x.a FROM c{n - 1} x JOIN c{n - 1} y ON x.a = y.a)" for n in range(1, 40)
    )
    doubling = f"WITH c0 AS (SELECT a FROM m), {ctes} SELECT DISTINCT a FROM c39"
    assert judge(doubling) == ()


def _call(name: str) -> str | None:
    """A call of a function of Spark's that the parser takes, whatever its arguments."""
    for arguments in ("a", "a, b", "a, 1, b", "a, b, c, d", "", "a AS INT", "1, a", "a, x -> x"):
        call = f"{name}({arguments})"
        try:
            sqlglot.parse_one(f"SELECT {call} AS a FROM m", dialect="spark")
        except (sqlglot.errors.SqlglotError, LookupError):
            continue
        return call
    return None


@pytest.mark.parametrize("name", sorted(BUILTINS))
def test_functions_of_spark(name: str) -> None:
    call = _call(name)
    if call is None:
        assert name in {"between", "case", "in", "when"}
        return
    operators = {refusal.operator for refusal in judge(f"SELECT DISTINCT {call} AS a FROM m")}
    if name in AGGREGATES:
        assert len(operators) == 1
        assert next(iter(operators)).startswith("aggregate ")
    elif name in WINDOW_FUNCTIONS:
        assert operators == {"window"}
    elif name in NONDETERMINISTIC:
        assert operators == {f"non-deterministic {name.upper()}"}
    else:
        assert operators == set()


def test_sets_of_functions() -> None:
    kinds = [AGGREGATES, WINDOW_FUNCTIONS, NONDETERMINISTIC, GENERATORS]
    assert frozenset().union(*kinds) <= BUILTINS
    assert sum(map(len, kinds)) == len(frozenset().union(*kinds))
