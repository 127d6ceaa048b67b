package providertest

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/provisiond/provisiond/provider"
)

// A binding is one of an instance's.
type binding struct {
	id          string
	credentials provider.Credentials
	// use fails once the session has ended; nil where none was opened.
	use func(ctx context.Context) error
}

// bind is Bind, with its credentials used and kept.
func (w *worker) bind(ctx context.Context, r *provider.Request) error {
	r.BindingID = w.bindingID
	c, err := w.h.Driver.Bind(ctx, r)
	if err != nil {
		return err
	}
	w.connect(c)
	w.dropBinding(r.BindingID)
	w.bindings = append(w.bindings, &binding{id: r.BindingID, credentials: c})
	return nil
}

// bindAndLose is Bind, with its answer lost.
func (w *worker) bindAndLose(ctx context.Context, r *provider.Request) error {
	r.BindingID = w.bindingID
	_, err := w.h.Driver.Bind(ctx, r)
	return err
}

// bindMore makes more bindings, each with a session.
func (w *worker) bindMore(n int) {
	w.t.Helper()
	for range n {
		w.bindingID = newBindingID()
		w.complete(w.bind)
		if b := w.bindings[len(w.bindings)-1]; w.h.Session != nil {
			b.use = w.h.Session(w.t, b.credentials)
		}
	}
}

// unbind is Unbind.
func (w *worker) unbind(bindingID string) method {
	return func(ctx context.Context, r *provider.Request) error {
		r.BindingID = bindingID
		return w.h.Driver.Unbind(ctx, r)
	}
}

// rotate is Bind and then, once that has returned to a worker that lives, Unbind of the old binding.
func (w *worker) rotate(old string) method {
	bound := false
	return func(ctx context.Context, r *provider.Request) error {
		if bound {
			return w.unbind(old)(ctx, r)
		}
		if err := w.bind(ctx, r); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		bound = true
		r.State = bytes.Clone(w.state)
		return w.unbind(old)(ctx, r)
	}
}

// dropBinding takes the binding off those that should exist.
func (w *worker) dropBinding(id string) {
	w.bindings = slices.DeleteFunc(slices.Clone(w.bindings), func(b *binding) bool { return b.id == id })
}

// connect uses the credentials, and remembers what of them must be seen nowhere else.
func (w *worker) connect(c provider.Credentials) {
	w.t.Helper()
	for _, key := range w.h.SecretCredentials {
		if c[key] == "" {
			w.t.Fatalf("the credentials lack %q, which Harness.SecretCredentials names", key)
		}
		w.keep(c[key])
	}
	if err := w.h.Connect(context.WithoutCancel(w.t.Context()), c); err != nil {
		w.t.Errorf("the credentials do not connect: %v", err)
	}
}

// expectWorking checks that the credentials connect, and that their sessions go on.
func (w *worker) expectWorking(bindings ...*binding) {
	w.t.Helper()
	for _, b := range bindings {
		w.connect(b.credentials)
		if b.use == nil {
			continue
		}
		if err := b.use(w.t.Context()); err != nil {
			w.t.Errorf("an open session does not go on: %v", err)
		}
	}
}

// expectEnded checks that the credentials no longer connect, and that their session has ended.
func (w *worker) expectEnded(b *binding) {
	w.t.Helper()
	if err := w.h.Connect(w.t.Context(), b.credentials); err == nil {
		w.t.Error("the credentials connect after Unbind")
	}
	if b.use != nil && b.use(w.t.Context()) == nil {
		w.t.Error("a session goes on after Unbind")
	}
}

// write stores a text with the binding's credentials, where the back end holds data.
func (w *worker) write(b *binding, text string) {
	w.t.Helper()
	if w.h.Write == nil {
		return
	}
	if err := w.h.Write(w.t.Context(), b.credentials, text); err != nil {
		w.t.Fatalf("Harness.Write: %v", err)
	}
}

// expectText checks that the text can be read with the binding's credentials.
func (w *worker) expectText(b *binding, want string) {
	w.t.Helper()
	if w.h.Read == nil {
		return
	}
	got, err := w.h.Read(w.t.Context(), b.credentials)
	if err != nil {
		w.t.Errorf("Harness.Read: %v", err)
	} else if got != want {
		w.t.Errorf("Harness.Read = %q, want %q", got, want)
	}
}

// testBindings: one of several bindings ends, and the others, and what was made with its credentials, go
// on. When the last has ended a new one can be made.
func testBindings(t *testing.T, h Harness) {
	w := newWorker(t, h)
	w.complete(w.provision)
	unbound := w.see()
	w.bindMore(3)
	w.expect(kindsOf(w.outside()))
	w.expectApart()
	w.write(w.bindings[1], "hello")

	for _, n := range []int{1, 0, 0} {
		b := w.bindings[n]
		w.complete(w.unbind(b.id))
		w.dropBinding(b.id)
		w.expectEnded(b)
		w.expectWorking(w.bindings...)
		if len(w.bindings) > 0 {
			w.expectText(w.bindings[0], "hello")
		}
		w.expectHealthy()
		w.complete(w.unbind(b.id))
	}
	w.expectSame(unbound, "to bind and unbind")
	w.bindMore(1)
	w.expectText(w.bindings[0], "hello")
	w.deprovision()
}

// expectApart checks that no two bindings share a secret.
func (w *worker) expectApart() {
	w.t.Helper()
	seen := map[string]bool{}
	for _, b := range w.bindings {
		for _, key := range w.h.SecretCredentials {
			if seen[b.credentials[key]] {
				w.t.Errorf("two bindings have the same %s", key)
			}
			seen[b.credentials[key]] = true
		}
	}
}

// testRotation: a second binding takes the place of the first, and for a while both work.
func testRotation(t *testing.T, h Harness) {
	w := newWorker(t, h)
	w.complete(w.provision)
	w.bindMore(1)
	w.write(w.bindings[0], "hello")
	one := kindsOf(w.outside())

	w.bindMore(1)
	w.expectWorking(w.bindings...)
	w.expectText(w.bindings[1], "hello")
	w.write(w.bindings[0], "goodbye")

	first := w.bindings[0]
	w.complete(w.unbind(first.id))
	w.dropBinding(first.id)
	w.expectEnded(first)
	w.expectWorking(w.bindings...)
	w.expectText(w.bindings[0], "goodbye")
	w.expect(one)
	w.expectHealthy()
	w.deprovision()
}
