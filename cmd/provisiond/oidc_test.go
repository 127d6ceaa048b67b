package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/provisiond/provisiond/api"
	"github.com/provisiond/provisiond/internal/pgtest"
)

func TestOIDCOptions(t *testing.T) {
	t.Parallel()
	var parsed cli
	args := []string{"dev", "--oidc-issuer=https://id.example", "--oidc-audience=a,b", "--oidc-kind-claim=who", "--oidc-client-id=pages"}
	vars := map[string]string{"PROVISIOND_OIDC_CLIENT_SECRET_FILE": writeFile(t, "secret", "hunter2\n")}
	if _, err := parse(&parsed, args, lookupIn(vars), &problems{}, new(buffer), new(buffer)); err != nil {
		t.Fatal(err)
	}
	want := &api.OIDC{
		Issuer: "https://id.example", Audiences: []string{"a", "b"}, TenantClaim: "tenant", KindClaim: "who",
		ClientID: "pages", ClientSecret: "hunter2",
	}
	if diff := cmp.Diff(want, parsed.Dev.oidc()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	runCommand(t, nil, "dev", "--oidc-issuer=id.example").expect(t, exitConfig,
		"provisiond: --oidc-issuer (PROVISIOND_OIDC_ISSUER) must be an http or https URL")
	runCommand(t, nil, "dev", "--oidc-audience=a").expect(t, exitConfig,
		"provisiond: --oidc-audience (PROVISIOND_OIDC_AUDIENCE) needs --oidc-issuer")
	runCommand(t, nil, "dev", "--oidc-audience=a", "--oidc-client-id=pages").expect(t, exitConfig,
		"provisiond: --oidc-audience (PROVISIOND_OIDC_AUDIENCE) needs --oidc-issuer",
		"provisiond: --oidc-client-id (PROVISIOND_OIDC_CLIENT_ID) needs --oidc-issuer")
	runCommand(t, nil, "dev", "--oidc-issuer=https://id.example", "--oidc-client-secret=hunter2").expect(t, exitConfig,
		"provisiond: --oidc-client-secret (PROVISIOND_OIDC_CLIENT_SECRET) needs --oidc-client-id")
}

// An issuer that is away does not keep a replica from starting.
func TestServeWithTheIssuerAway(t *testing.T) {
	t.Parallel()
	s := start(t, forServe(t, pgtest.URL(t)), "serve", "--oidc-issuer=http://127.0.0.1:1")
	url, _ := s.awaitReady(t)
	status, body := get(t, url+"/.well-known/oauth-protected-resource/mcp")
	if status != http.StatusOK || !strings.Contains(body, `"authorization_servers":["http://127.0.0.1:1"]`) {
		t.Errorf("status %d: %s", status, body)
	}
}
