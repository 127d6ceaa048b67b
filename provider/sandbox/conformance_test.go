package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provisiond/provisiond/internal/pgtest"
	"github.com/provisiond/provisiond/provider"
	"github.com/provisiond/provisiond/provider/providertest"
)

// Every knob is on, and yet there is one instance in the end.
const allKnobs = `{
	"duration": "6ms", "steps": 3, "lose_answer": true, "overridable": true,
	"questions": [
		{"name": "region", "message": "Where?",
			"schema": {"type": "object", "properties": {"region": {"type": "string", "enum": ["eu", "us"]}}},
			"default": {"region": "eu"}, "expiry": "1h"},
		{"name": "token", "message": "Which token?", "secret": true, "person_only": true, "after_step": 2,
			"schema": {"type": "object", "properties": {"token": {"type": "string"}}, "required": ["token"]}},
		{"name": "sure", "message": "Sure?", "after_step": 3,
			"schema": {"type": "object", "properties": {"sure": {"type": "boolean"}}}}
	],
	"fail_at_step": 2, "failure": {"retryable": true, "times": 2},
	"update_duration": "2ms", "fail_update": {"retryable": true, "times": 1}, "fail_unbind": 1,
	"fail_deprovision": 1, "deprovision_duration": "2ms"}`

func TestConformance(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	providertest.Run(t, providertest.Harness{
		Driver:      newDriver(t, pool),
		Unreachable: newDriver(t, unreachable(t)),
		Settings:    json.RawMessage(allKnobs),
		Parameters:  map[string]any{"size": "large", "steps": float64(4)},
		Answers: map[string]map[string]any{
			"region": {"region": "us"}, "token": {"token": "canary-of-the-answer"}, "sure": {"sure": true},
		},
		Odd: map[string]providertest.Odd{
			"no steps":        wrong("steps", 0),
			"too many steps":  wrong("steps", 21),
			"half a step":     wrong("steps", 2.5),
			"time backwards":  wrong("duration", "-1s"),
			"time as number":  wrong("duration", float64(5)),
			"a step too far":  wrong("fail_at_step", 5),
			"odd failure":     wrong("failure", "now"),
			"odd update":      wrong("fail_update", "often"),
			"odd unbind":      wrong("fail_unbind", -1),
			"odd removal":     wrong("fail_deprovision", "never"),
			"hostile strings": {Parameters: map[string]any{"size": "'; DROP TABLE sandbox_object; --"}},
		},
		Connect:           connectTo(pool),
		Objects:           objectsIn(pool),
		Look:              look(pool),
		Updates:           updates,
		RefusedUpdates:    refusedUpdates,
		Broken:            broken(pool),
		Foreign:           map[string]providertest.Plant{"instance": plant(pool, instanceName)},
		ForeignBinding:    map[string]providertest.Plant{"credential": plant(pool, credentialOf)},
		Secrets:           []string{"canary-of-the-answer"},
		SecretCredentials: []string{"uri", "password"},
	})
}

var updates = map[string]providertest.Update{
	"size":    {Parameters: map[string]any{"size": "huge"}, Want: map[string]string{"size": `"huge"`}},
	"no size": {Parameters: map[string]any{"size": nil}, Want: map[string]string{"size": "null"}},
	// The digest is pinned: it is kept in databases, and another would look like a change.
	"settings": {
		Settings: json.RawMessage(`{"update_duration": "1ms"}`),
		Want:     map[string]string{"knobs": "knobs=5a25e430e8491ff2"},
	},
}

var refusedUpdates = map[string]providertest.RefusedUpdate{
	"wrong knob": {Parameters: map[string]any{"size": "huge", "steps": float64(0)}, Names: "steps"},
	"failure for good": {Parameters: map[string]any{"fail_update": map[string]any{
		"code": "provider_rejected", "message": "A size of huge is refused."}}, Names: "size"},
}

// look reads what the instance's object records.
func look(pool *pgxpool.Pool) func(context.Context, string) (map[string]string, error) {
	return func(ctx context.Context, instanceID string) (map[string]string, error) {
		rows, err := pool.Query(ctx,
			`SELECT detail FROM sandbox_object WHERE kind = 'instance' AND instance_id = $1`, instanceID)
		if err != nil {
			return nil, err
		}
		details, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil || len(details) == 0 {
			return nil, err
		}
		size, knobs, _ := strings.Cut(strings.Join(details, "; "), " ")
		return map[string]string{"size": strings.TrimPrefix(size, "size="), "knobs": knobs}, nil
	}
}

// broken are the ways in which someone could break an instance.
func broken(pool *pgxpool.Pool) map[string]providertest.Break {
	do := func(sql string) func(*testing.T, *provider.Request) {
		return func(t *testing.T, r *provider.Request) {
			t.Helper()
			_, err := pool.Exec(t.Context(), sql, r.InstanceID, instanceName(r), credentialOf(r))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				_, err := pool.Exec(context.Background(),
					`DELETE FROM sandbox_object WHERE instance_id = $1`, r.InstanceID+"_of_another")
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
	return map[string]providertest.Break{
		"no instance": {Want: provider.Missing, Object: kindInstance,
			Do: do(`DELETE FROM sandbox_object WHERE instance_id = $1 AND name = $2 AND $3 <> ''`)},
		"no credential": {Want: provider.Missing, Object: kindCredential,
			Do: do(`DELETE FROM sandbox_object WHERE instance_id = $1 AND $2 <> '' AND name = $3`)},
		"another size": {Want: provider.Changed, Object: kindInstance,
			Do: do(`UPDATE sandbox_object SET detail = 'tiny' WHERE instance_id = $1 AND name = $2 AND $3 <> ''`)},
		"another's instance": {Want: provider.Foreign, Object: kindInstance,
			Do: do(`UPDATE sandbox_object SET instance_id = $1 || '_of_another'
				WHERE instance_id = $1 AND name = $2 AND $3 <> ''`)},
		"a double": {Want: provider.Foreign, Object: kindCredential,
			Do: do(`INSERT INTO sandbox_object (instance_id, kind, name)
				SELECT $1, 'credential', $3 WHERE $2 <> ''`)},
		"a stranger within": {Want: provider.Foreign, Object: "stranger",
			Do: do(`INSERT INTO sandbox_object (instance_id, kind, name)
				SELECT $1, 'stranger', 'stranger' WHERE $2 <> $3`)},
	}
}

func credentialOf(r *provider.Request) string { return credentialName(r.BindingID) }

func wrong(parameter string, value any) providertest.Odd {
	return providertest.Odd{Parameters: map[string]any{parameter: value}, Want: provider.ErrRejected, Names: parameter}
}

func newDriver(t *testing.T, pool *pgxpool.Pool) provider.Driver {
	t.Helper()
	d, err := Factory(func() *pgxpool.Pool { return pool })(nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// unreachable is a pool on a port where nothing listens.
func unreachable(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(context.Background(), "postgres://127.0.0.1:1/none?connect_timeout=2")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// connectTo is as near to a login as a simulator gets: the user that the URI names exists.
func connectTo(pool *pgxpool.Pool) func(context.Context, provider.Credentials) error {
	return func(ctx context.Context, c provider.Credentials) error {
		u, err := url.Parse(c["uri"])
		if err != nil {
			return err
		}
		password, _ := u.User.Password()
		if u.User.Username() != c["username"] || password != c["password"] || c["simulated"] != "true" {
			return errors.New("the credentials contradict each other")
		}
		var exists bool
		err = pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM sandbox_object WHERE kind = 'credential' AND name = $1)`,
			u.User.Username()).Scan(&exists)
		if err == nil && !exists {
			return errors.New("no such user")
		}
		return err
	}
}

// objectsIn finds an instance's objects of whatever name.
func objectsIn(pool *pgxpool.Pool) func(context.Context, string) ([]provider.Object, error) {
	return func(ctx context.Context, instanceID string) ([]provider.Object, error) {
		rows, err := pool.Query(ctx, `SELECT kind, name FROM sandbox_object WHERE instance_id = $1`, instanceID)
		if err != nil {
			return nil, err
		}
		return pgx.CollectRows(rows, pgx.RowToStructByPos[provider.Object])
	}
}

func plant(pool *pgxpool.Pool, nameOf func(*provider.Request) string) providertest.Plant {
	return func(t *testing.T, r *provider.Request) func(*testing.T) {
		t.Helper()
		name, owner := nameOf(r), "inst_of_someone_else_"+strings.TrimPrefix(r.InstanceID, "inst_")
		_, err := pool.Exec(t.Context(),
			`INSERT INTO sandbox_object (instance_id, kind, name) VALUES ($1, 'foreign', $2)`, owner, name)
		if err != nil {
			t.Fatal(err)
		}
		return func(t *testing.T) {
			t.Helper()
			if n := count(t, pool, owner); n != 1 {
				t.Errorf("%d foreign objects, want 1", n)
			}
		}
	}
}

func count(t *testing.T, pool *pgxpool.Pool, instanceID string) int {
	t.Helper()
	var n int
	err := pool.QueryRow(t.Context(), `SELECT count(*) FROM sandbox_object WHERE instance_id = $1`, instanceID).Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
