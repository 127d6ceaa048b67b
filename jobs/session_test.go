package jobs

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestASessionEndsWithItsKey(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.run(t)
	key, token, err := NewAdmin(f.pool).CreateKey(t.Context(), NewKey{TenantID: f.caller.TenantID, Kind: KindPerson, Scopes: AllScopes()})
	if err != nil {
		t.Fatal(err)
	}
	_, text, err := f.SignIn(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	c, err := f.Resume(t.Context(), text)
	if err != nil || c.KeyID != key.ID || c.TenantID != key.TenantID || !c.Can(ScopeJobsRead) {
		t.Fatalf("got %v, %v", c, err)
	}
	if err := NewAdmin(f.pool).RevokeKey(t.Context(), key.ID); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); err == nil && time.Now().Before(deadline); {
		_, err = f.Resume(t.Context(), text) // until the replica hears of it
	}
	if !errors.Is(err, Unauthenticated) {
		t.Errorf("error %v", err)
	}
}

func TestOtherSealedValuesAreNoSession(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, token, err := NewAdmin(f.pool).CreateKey(t.Context(), NewKey{TenantID: f.caller.TenantID, Kind: KindAgent})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.SignIn(t.Context(), token); !errors.Is(err, PersonRequired) {
		t.Errorf("error %v", err)
	}
	sealed, err := f.cfg.Sealer.seal(place{"t", "binding", "b", "credentials"}, Session{KeyID: f.caller.KeyID})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "x", "*", string(sealed)} {
		if _, err := f.Resume(t.Context(), text); !errors.Is(err, Unauthenticated) {
			t.Errorf("error %v", err)
		}
	}
}

func TestASessionOfASubject(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	person := Caller{TenantID: f.caller.TenantID, KeyID: "oidc:x", Kind: KindPerson, Scopes: []string{ScopeJobsRead}}
	text, err := f.SignInAs(person, time.Now().Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.Resume(t.Context(), text)
	if diff := cmp.Diff(person, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if text, err = f.SignInAs(person, time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Resume(t.Context(), text); !errors.Is(err, Unauthenticated) {
		t.Errorf("expired: error %v", err)
	}
	for _, kind := range []KeyKind{KindAgent, KindService, ""} {
		if _, err := f.SignInAs(Caller{TenantID: person.TenantID, KeyID: person.KeyID, Kind: kind}, time.Now().Add(time.Minute)); !errors.Is(err, PersonRequired) {
			t.Errorf("%q: error %v", kind, err)
		}
	}
}
