//go:build race

package e2e_test

// raceDetector is on in provisiond too when it is on in the tests.
const raceDetector = true
