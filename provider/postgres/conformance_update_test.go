package postgres

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provisiond/provisiond/provider/providertest"
)

var updates = map[string]providertest.Update{
	"another plan": {
		Settings: json.RawMessage(`{"connection_limit": 30, "locale": "C",
			"extensions": ["citext", "hstore", "no_such_extension"]}`),
		Parameters: map[string]any{"connection_limit": float64(25)},
		Want:       map[string]string{"database limit": "25", "login limits": "25"},
	},
	"lower limit and another extension": {
		Parameters: map[string]any{"connection_limit": float64(9), "extensions": []any{"hstore", "citext"}},
		Want:       map[string]string{"database limit": "9", "login limits": "9", "extensions": "citext hstore plpgsql"},
	},
}

var refusedUpdates = map[string]providertest.RefusedUpdate{
	"another locale":          refused("locale", map[string]any{"locale": "C.UTF-8"}),
	"an extension less":       refused("extensions", map[string]any{"extensions": []any{"hstore"}}),
	"no extensions":           refused("extensions", map[string]any{"extensions": nil}),
	"limit over the plan's":   refused("connection_limit", map[string]any{"connection_limit": float64(21)}),
	"extension not in plan":   refused("extensions", map[string]any{"extensions": []any{"citext", "pg_trgm"}}),
	"some of it can be done":  refused("locale", map[string]any{"locale": "C.UTF-8", "connection_limit": float64(15)}),
	"extension not on server": refused("extensions", map[string]any{"extensions": []any{"citext", "hstore", "no_such_extension"}}),
	"plan of another locale":  {Settings: json.RawMessage(`{"locale": "C.UTF-8", "extensions": ["citext"]}`), Names: "locale"},
	"plan without extensions": {Settings: json.RawMessage(`{"locale": "C"}`), Names: "extensions"},
	"plan with a lower limit": {Settings: json.RawMessage(`{"connection_limit": 5, "locale": "C", "extensions": ["citext"]}`), Names: "connection_limit"},
}

func refused(parameter string, parameters map[string]any) providertest.RefusedUpdate {
	return providertest.RefusedUpdate{Parameters: parameters, Names: parameter}
}

// lookAt sees what Update can change, and what it must leave alone.
func lookAt(pool *pgxpool.Pool) func(context.Context, string) (map[string]string, error) {
	return func(ctx context.Context, instanceID string) (map[string]string, error) {
		rows, err := pool.Query(ctx, `
			SELECT 'database limit', datconnlimit::text FROM pg_database WHERE datname = $1
			UNION ALL
			SELECT 'locale', datcollate FROM pg_database WHERE datname = $1
			UNION ALL
			SELECT 'access', datacl::text FROM pg_database WHERE datname = $1 AND datacl IS NOT NULL
			UNION ALL
			SELECT 'login limits', string_agg(DISTINCT m.rolconnlimit::text, ' ') FROM pg_auth_members a
				JOIN pg_roles m ON m.oid = a.member JOIN pg_roles o ON o.oid = a.roleid
				WHERE o.rolname = $1 AND m.rolname LIKE 'prov\_u\_%' HAVING count(*) > 0`, ownName(instanceID))
		if err != nil {
			return nil, err
		}
		look := map[string]string{}
		var key, value string
		if _, err := pgx.ForEachRow(rows, []any{&key, &value}, func() error { look[key] = value; return nil }); err != nil {
			return nil, err
		}
		return look, lookInside(ctx, pool, ownName(instanceID), look)
	}
}

// lookInside sees the extensions of a database that takes connections.
func lookInside(ctx context.Context, pool *pgxpool.Pool, database string, look map[string]string) error {
	config := pool.Config().ConnConfig
	config.Database = database
	conn, err := pgx.ConnectConfig(ctx, config)
	if state, _ := sqlState(err); in([]string{"3D000", "55000"}, state) {
		return nil // it does not exist, or takes none
	}
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	var extensions []string
	err = conn.QueryRow(ctx, `SELECT array_agg(extname::text ORDER BY extname) FROM pg_extension`).Scan(&extensions)
	look["extensions"] = strings.Join(extensions, " ")
	return err
}
