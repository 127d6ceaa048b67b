package api

import (
	"fmt"
	"runtime/debug"

	"github.com/labstack/echo/v4"
)

// recoverPanic turns a panic into a 500 answer. The log gets its type and stack; its value could be
// a secret.
func (s *server) recoverPanic(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			if v := recover(); v != nil {
				callOf(c).stack = string(debug.Stack())
				err = fmt.Errorf("panic of type %T", v)
			}
		}()
		return next(c)
	}
}
