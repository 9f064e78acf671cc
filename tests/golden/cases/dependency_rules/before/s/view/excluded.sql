-- //// METADATA excludeDependencies="S.Base"
CREATE VIEW ${s}.excluded AS SELECT base.a FROM ${s}.base JOIN ${s}.other
