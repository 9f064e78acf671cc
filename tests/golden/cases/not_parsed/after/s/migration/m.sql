-- //// CHANGE name=go
CALL lake.system.rewrite_data_files(table => '${s}.other', `where` => (SELECT max(a) > 1 FROM ${s}.t));
