-- //// METADATA tags=new
/* now with /* nested */ comments */
create view ${s}.V as
select `Id`, 'Keep  ME' as text
from ${s}.t
where note <> "it's";
