package migrations_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// schemaQueries together describe all that a migration may make, as the server prints it: pg_dump is
// not on each machine that runs these tests.
var schemaQueries = []string{
	`SELECT format('column %s.%s %s %s not null=%s default=%s identity=%s generated=%s', c.oid::regclass, a.attnum, a.attname,
		format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(d.adbin, d.adrelid), a.attidentity, a.attgenerated)
	FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
	LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
	WHERE c.relnamespace IN (SELECT oid FROM ours) AND c.relkind IN ('r', 'p', 'v', 'm')`,
	`SELECT format('relation %s kind=%s persistence=%s options=%s', c.oid::regclass, c.relkind, c.relpersistence, c.reloptions)
	FROM pg_class c WHERE c.relnamespace IN (SELECT oid FROM ours)`,
	`SELECT format('constraint %s on %s %s: %s', conname, conrelid::regclass, convalidated, pg_get_constraintdef(oid))
	FROM pg_constraint WHERE connamespace IN (SELECT oid FROM ours)`,
	`SELECT 'index ' || pg_get_indexdef(indexrelid)
	FROM pg_index JOIN pg_class c ON c.oid = indexrelid WHERE c.relnamespace IN (SELECT oid FROM ours)`,
	`SELECT format('enum %s %s', enumtypid::regtype, string_agg(enumlabel, ',' ORDER BY enumsortorder))
	FROM pg_enum JOIN pg_type t ON t.oid = enumtypid WHERE t.typnamespace IN (SELECT oid FROM ours) GROUP BY enumtypid`,
	`SELECT 'function ' || pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace IN (SELECT oid FROM ours) AND prokind IN ('f', 'p')`,
	`SELECT 'trigger ' || pg_get_triggerdef(t.oid)
	FROM pg_trigger t JOIN pg_class c ON c.oid = tgrelid WHERE c.relnamespace IN (SELECT oid FROM ours) AND NOT tgisinternal`,
	`SELECT format('comment on %s: %s', pg_describe_object(classoid, objoid, objsubid), description)
	FROM pg_description WHERE classoid = 'pg_class'::regclass
	AND objoid IN (SELECT oid FROM pg_class WHERE relnamespace IN (SELECT oid FROM ours))`,
}

// schema returns the description of the database's objects, sorted.
func schema(t *testing.T, pool *pgxpool.Pool) []string {
	t.Helper()
	var all []string
	for _, query := range schemaQueries {
		all = append(all, scan(t, pool, `
			WITH ours AS (SELECT oid FROM pg_namespace WHERE nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast'))
			`+query+` ORDER BY 1`)...)
	}
	return all
}

func scan(t *testing.T, pool *pgxpool.Pool, query string) []string {
	t.Helper()
	rows, _ := pool.Query(t.Context(), query) // CollectRows returns the error
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return list
}
