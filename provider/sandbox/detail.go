package sandbox

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/provisiond/provisiond/provider"
)

// brokenDetail is what an unusable instance's object records.
const brokenDetail = "broken"

// detail is what the instance's object records of the configuration: the size, and a digest of the knobs.
// Other parameters are left out: they may be secret.
func (k *knobs) detail(r *provider.Request) (string, error) {
	// Decoded and encoded again, equal settings are equal texts.
	var settings map[string]any
	if len(k.settings) > 0 {
		if err := json.Unmarshal(k.settings, &settings); err != nil {
			return "", fmt.Errorf("read the settings: %w", err)
		}
	}
	canonical, err := json.Marshal(settings)
	if err != nil {
		return "", fmt.Errorf("write the settings: %w", err)
	}
	size, err := json.Marshal(r.Parameters["size"])
	if err != nil {
		return "", fmt.Errorf("write the size: %w", err)
	}
	digest := sha256.Sum256(canonical)
	return fmt.Sprintf("size=%s knobs=%x", size, digest[:8]), nil
}
