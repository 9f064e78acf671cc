CREATE VIEW ${s}.v AS SELECT `Id`, 'Keep  ME' AS text FROM ${s}.t WHERE note <> "it's"
