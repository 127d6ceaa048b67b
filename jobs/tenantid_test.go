package jobs

import "testing"

func TestTenantID(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	tenant, err := NewAdmin(f.pool).CreateTenant(t.Context(), "by-name")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // from the database and from the cache
		for _, text := range []string{tenant.Name, tenant.ID} {
			got, err := f.TenantID(t.Context(), text)
			if err != nil {
				t.Fatal(err)
			}
			mustBe(t, text, got, tenant.ID)
		}
	}
	for _, text := range []string{"", "nobody", "by-name ", "BY-NAME"} {
		_, err := f.TenantID(t.Context(), text)
		mustCode(t, err, NotFound)
	}
	// Made after it was asked for: what was not found is not kept.
	if _, err := NewAdmin(f.pool).CreateTenant(t.Context(), "nobody"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.TenantID(t.Context(), "nobody"); err != nil {
		t.Error(err)
	}
}
