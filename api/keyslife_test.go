package api

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/provisiond/provisiond/jobs"
)

// A key that the issuer has withdrawn is trusted until the keys are old, and no longer.
func TestWithdrawnKey(t *testing.T) {
	t.Parallel()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA, Key: private}, nil)
	if err != nil {
		t.Fatal(err)
	}
	token, err := jwt.Signed(signer).Claims(jwt.Claims{Subject: "someone"}).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	var withdrawn atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		url := "http://" + r.Host
		answer := any(map[string]string{"issuer": url, "jwks_uri": url + "/keys"})
		if r.URL.Path == "/keys" && withdrawn.Load() {
			answer = jose.JSONWebKeySet{}
		} else if r.URL.Path == "/keys" {
			answer = jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: public}}}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)

	i := newIssuer(server.URL)
	verify := func() error {
		_, err := i.verify(t.Context(), token)
		return err
	}
	if err := verify(); err != nil {
		t.Fatal(err)
	}
	withdrawn.Store(true)
	if err := verify(); err != nil {
		t.Errorf("the keys were not kept: %v", err)
	}
	i.until = time.Now() // keysLife later
	if err := verify(); !errors.Is(err, jobs.Unauthenticated) {
		t.Errorf("got error %v, want %s", err, jobs.Unauthenticated)
	}
}
