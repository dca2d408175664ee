# Turns share/schema.sql into a C array with the text of one version an element.
BEGIN { print "#include \"store/sql.h\"\n\nconst char *const sql_schema[] = {" }
/^-- version [0-9]+$/ { if (n++) print "\t,"; next }
n && !/^--/ { gsub(/\\/, "\\\\"); gsub(/"/, "\\\""); print "\t\"" $0 "\\n\"" }
END { print "\t, 0\n};" }
