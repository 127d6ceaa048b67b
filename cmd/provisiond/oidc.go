package main

import (
	"github.com/provisiond/provisiond/api"
)

// oidcOptions name an OpenID provider whose access tokens are taken besides API keys, and where people
// can sign in.
type oidcOptions struct {
	OIDCIssuer      string   `name:"oidc-issuer" placeholder:"URL" help:"OpenID provider whose access tokens are taken besides API keys, exactly as its tokens name it."`
	OIDCAudience    []string `name:"oidc-audience" placeholder:"TEXT" help:"Audiences of tokens to take, besides the public URL and its /mcp."`
	OIDCTenantClaim string   `name:"oidc-tenant-claim" default:"tenant" help:"Claim of a token that holds the tenant's name or ID."`
	OIDCKindClaim   string   `name:"oidc-kind-claim" default:"kind" help:"Claim of a token that says who holds it: agent, person, service or admin. A token without it is an agent's."`

	OIDCClientID     string `name:"oidc-client-id" placeholder:"TEXT" help:"Client with which people sign in to the pages at the issuer. Its redirect URI is the public URL with /sign-in/callback."`
	OIDCClientSecret string `name:"oidc-client-secret" secret:"" placeholder:"TEXT" help:"Secret of that client; none for a public client."`
}

func (o oidcOptions) check(_ lookup, found *problems) {
	if o.OIDCIssuer != "" && !isHTTP(o.OIDCIssuer) {
		found.add("oidc-issuer", "must be an http or https URL")
	}
	if o.OIDCIssuer == "" && len(o.OIDCAudience) > 0 {
		found.add("oidc-audience", "needs --oidc-issuer")
	}
	if o.OIDCIssuer == "" && o.OIDCClientID != "" {
		found.add("oidc-client-id", "needs --oidc-issuer")
	}
	if o.OIDCClientID == "" && o.OIDCClientSecret != "" {
		found.add("oidc-client-secret", "needs --oidc-client-id")
	}
}

// oidc is nil where API keys are all.
func (o oidcOptions) oidc() *api.OIDC {
	if o.OIDCIssuer == "" {
		return nil
	}
	return &api.OIDC{
		Issuer:      o.OIDCIssuer,
		Audiences:   o.OIDCAudience,
		TenantClaim: o.OIDCTenantClaim,
		KindClaim:   o.OIDCKindClaim,

		ClientID:     o.OIDCClientID,
		ClientSecret: o.OIDCClientSecret,
	}
}
