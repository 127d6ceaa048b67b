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
			"odd removal":     wrong("fail_deprovision", "never"),
			"hostile strings": {Parameters: map[string]any{"size": "'; DROP TABLE sandbox_object; --"}},
		},
		Connect:           connectTo(pool),
		Objects:           objectsIn(pool),
		Foreign:           map[string]providertest.Plant{"instance": plant(pool, instanceName)},
		ForeignBinding:    map[string]providertest.Plant{"credential": plant(pool, credentialName)},
		Secrets:           []string{"canary-of-the-answer"},
		SecretCredentials: []string{"uri", "password"},
	})
}

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
