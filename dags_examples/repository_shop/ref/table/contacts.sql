-- External: the CRM team owns this table. It can be read, and is never touched from here.
-- //// METADATA lifecycle=external excludeEnvs=dev*,stage*,ci*
CREATE TABLE ${ref}.contacts (
  email STRING,
  campaign STRING,
  contacted_on DATE
);
