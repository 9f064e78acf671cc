-- //// METADATA includeDependencies = base
CREATE VIEW ${s}.included AS SELECT a FROM ${s}.other
