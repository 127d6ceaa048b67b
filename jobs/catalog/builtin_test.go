package catalog_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/provisiond/provisiond/jobs/catalog"
)

func TestBuiltin(t *testing.T) {
	t.Parallel()
	c := load(t, string(catalog.Builtin()), "PROVISIOND_POSTGRES_ADMIN_URL", "postgres://localhost/postgres")
	var got []string
	for i := range c.Services {
		s := &c.Services[i]
		for j := range s.Plans {
			line := []string{s.ID + "/" + s.Plans[j].ID}
			for _, q := range s.Plans[j].Expected() {
				if q.Secret {
					q.Name += "(secret)"
				}
				line = append(line, q.Name)
			}
			got = append(got, strings.Join(line, " "))
		}
		if s.Simulated != strings.Contains(s.Description, "simulator") {
			t.Errorf("%s: the description must say that it is a simulator", s.ID)
		}
	}
	want := `postgres/small region
postgres/standard region confirm_cost
sandbox/instant
sandbox/guided region admin_password(secret) confirm_cost
sandbox/slow
sandbox/flaky
sandbox/broken
sandbox/tunable`
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

func TestBuiltinNeedsServer(t *testing.T) {
	t.Parallel()
	_, err := catalog.Load("builtin", catalog.Builtin(), environment(), testDrivers)
	if want := "environment variable PROVISIOND_POSTGRES_ADMIN_URL is not set"; !strings.HasSuffix(errorText(err), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// FuzzLoad: no file makes a panic; every fault tells where it is, and a good catalog has questions
// that can be asked.
func FuzzLoad(f *testing.F) {
	for _, seed := range []string{
		string(catalog.Builtin()), whole, onePlan(checked), onePlan(asking), "services: &a [*a]", "services: [{<<: [*a]}]",
		"? [a]\n: b", "services:\n- :", "a: !!int x", "services: [${A", "--- |\n a", "%YAML 1.2\n---\n{}", "{services: [{}, {id: a, plans: [{}]}]}",
		onePlan(`parameters: { $defs: { a: { $ref: "#/$defs/a" } }, properties: { a: { $ref: "#/$defs/a", default: 1 } } }`),
	} {
		f.Add([]byte(seed))
	}
	env := environment("A", "canary-7f3a", "PROVISIOND_POSTGRES_ADMIN_URL", "postgres://localhost")
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := catalog.Load("c.yaml", data, env, testDrivers)
		if err != nil {
			for line := range strings.SplitSeq(err.Error(), "\n") {
				if !strings.HasPrefix(line, "c.yaml:") || strings.Contains(line, "canary-7f3a") {
					t.Errorf("bad error %q", line)
				}
			}
			return
		}
		for _, s := range c.Services {
			for i := range s.Plans {
				for _, q := range s.Plans[i].Expected() {
					if err := catalog.CheckFlatSchema(q.Schema); err != nil {
						t.Errorf("%s: %v", q.Schema, err)
					}
				}
				if _, _, errs := s.Plans[i].CheckParameters(nil); len(errs) > 0 {
					t.Errorf("no parameters: %v", errs)
				}
			}
		}
	})
}

// BenchmarkLoad loads 2,000 services, whose plans have a schema in common or each their own.
func BenchmarkLoad(b *testing.B) {
	for _, name := range []string{"common schema", "own schemas"} {
		var yaml strings.Builder
		yaml.WriteString("services:\n")
		for i := range 2000 {
			service := strings.ReplaceAll(onePlan(asking), "id: shop", fmt.Sprintf("id: shop-%d", i))
			if name == "own schemas" {
				service = strings.ReplaceAll(service, "title: Token", fmt.Sprintf("title: Token %d", i))
			}
			yaml.WriteString(strings.TrimPrefix(service, "services:\n"))
		}
		b.Run(name, func(b *testing.B) {
			data := []byte(yaml.String())
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if _, err := catalog.Load("c.yaml", data, environment(), testDrivers); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
