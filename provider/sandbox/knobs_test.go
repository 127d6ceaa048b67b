package sandbox

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provisiond/provisiond/provider"
)

// noPool is for what must work without a database.
func noPool() *pgxpool.Pool { panic("a connection is made") }

func TestFactoryTakesNoConfiguration(t *testing.T) {
	t.Parallel()
	for config, want := range map[string]string{
		``:                 "",
		`null`:             "",
		`{}`:               "",
		`{"b": 1, "a": 2}`: "a: unknown field\nb: unknown field",
		`5`:                "must be a JSON object",
	} {
		_, err := Factory(noPool)(json.RawMessage(config))
		checkError(t, err, want)
	}
}

func TestCheckPlanReportsAllThatIsWrong(t *testing.T) {
	t.Parallel()
	d, err := Factory(noPool)(nil)
	if err != nil {
		t.Fatal(err)
	}
	for settings, want := range map[string][]string{
		``:       nil,
		`{}`:     nil,
		allKnobs: nil,
		`{"duration": "soon", "steps": 0, "fail_at_step": -1, "failure": {"code": "", "times": -1, "x": 1},
			"lose_answer": 1, "fail_deprovision": "sometimes", "speed": 9, "update_duration": 1, "fail_unbind": -1,
			"fail_update": {"message": "", "unusable": true, "retryable": true, "not_repeatable": 1}}`: {
			`duration: must be a duration of 0 or more, such as "90s"`,
			`fail_deprovision: must be an integer of 0 or more, or "always"`,
			`fail_unbind: must be an integer of 0 or more, or "always"`,
			`lose_answer: must be true or false`,
			`speed: unknown field`,
			`update_duration: must be a duration of 0 or more, such as "90s"`,
			`failure: times: must be an integer of 0 or more, or "always"`,
			`failure: x: unknown field`,
			`failure: code: must not be empty`,
			`fail_update: not_repeatable: must be true or false`,
			`fail_update: message: must not be empty`,
			`fail_update: retryable: must be false with unusable or not_repeatable`,
			`steps: must be from 1 to 20`,
			`fail_at_step: must be from 0 to the number of steps`,
		},
		`{"questions": [{}, 5, {"name": "a", "message": "A?", "after_step": 2,
				"schema": {"type": "object", "properties": {"a": {"type": "string"}}}},
			{"name": "b", "message": "B?", "default": "b", "expiry": "-1s", "schema": {"type": "string"}}],
			"failure": "now"}`: {
			`failure: must be a JSON object`,
			`questions[0]: name: is required`,
			`questions[0]: message: is required`,
			`questions[0]: schema: must be of type "object" with properties`,
			`questions[1]: must be a JSON object`,
			`questions[1]: name: is required`,
			`questions[1]: message: is required`,
			`questions[1]: schema: must be of type "object" with properties`,
			`questions[2]: after_step: must be from 0 to the number of steps`,
			`questions[3]: default: must be an object`,
			`questions[3]: expiry: must be a duration of 0 or more, such as "90s"`,
			`questions[3]: schema: must be of type "object" with properties`,
		},
	} {
		checkError(t, d.(provider.PlanChecker).CheckPlan(json.RawMessage(settings)), strings.Join(want, "\n"))
	}
}

func checkError(t *testing.T, err error, want string) {
	t.Helper()
	got := ""
	if err != nil {
		got = err.Error()
	}
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
