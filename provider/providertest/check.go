package providertest

import (
	"context"
	"slices"
	"testing"

	"github.com/provisiond/provisiond/provider"
)

// check is Check of the instance and the bindings that should exist. It changes nothing.
func (w *worker) check() []provider.Finding {
	w.t.Helper()
	var findings []provider.Finding
	before := w.see()
	w.complete(func(ctx context.Context, r *provider.Request) (err error) {
		r.Bindings = w.bindingIDs()
		findings, err = w.h.Driver.Check(ctx, r)
		return err
	})
	w.expectSame(before, "Check")
	for _, f := range findings {
		w.say(f.Object.Kind, f.Object.Name, f.Detail)
		known := slices.Contains([]provider.FindingKind{provider.Missing, provider.Changed, provider.Foreign}, f.Kind)
		if !known || f.Object.Kind == "" || f.Object.Name == "" || f.Detail == "" {
			w.t.Errorf("%+v: want a known kind, an object and a detail", f)
		}
	}
	return findings
}

func (w *worker) bindingIDs() []string {
	var ids []string
	for _, b := range w.bindings {
		ids = append(ids, b.id)
	}
	return ids
}

func (w *worker) expectHealthy() {
	w.t.Helper()
	if findings := w.check(); len(findings) > 0 {
		w.t.Errorf("Check found: %+v", findings)
	}
}

// expectFinding checks that Check finds it; an empty object kind is any.
func (w *worker) expectFinding(kind provider.FindingKind, objectKind string) {
	w.t.Helper()
	findings := w.check()
	if !slices.ContainsFunc(findings, func(f provider.Finding) bool {
		return f.Kind == kind && (objectKind == "" || f.Object.Kind == objectKind)
	}) {
		w.t.Errorf("Check found %+v, want %s %s", findings, kind, objectKind)
	}
}

// testCheck: nothing is found of a healthy instance, however many bindings it has. A binding that is gone
// is missing, one that should be gone is foreign, and after the end the instance is missing.
func testCheck(t *testing.T, h Harness) {
	w := newWorker(t, h)
	w.expectFinding(provider.Missing, "")
	w.complete(w.provision)
	w.expectHealthy()
	w.bindMore(2)
	w.expectHealthy()

	all := w.bindings
	w.bindings = all[1:]
	w.expectFinding(provider.Foreign, "")
	w.complete(w.unbind(all[0].id))
	w.expectHealthy()
	w.bindings = all
	w.expectFinding(provider.Missing, "")

	w.deprovision()
	w.expectFinding(provider.Missing, "")
	w.bindings = nil
	w.expectFinding(provider.Missing, "")
}

// testBroken: each way of breaking an instance is found.
func testBroken(t *testing.T, h Harness) {
	for name, broken := range h.Broken {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorker(t, h)
			w.complete(w.provision)
			w.bindMore(2)
			w.expectHealthy()
			r := w.request()
			r.Bindings = w.bindingIDs()
			r.BindingID = r.Bindings[0]
			broken.Do(t, r)
			w.expectFinding(broken.Want, broken.Object)
		})
	}
}
