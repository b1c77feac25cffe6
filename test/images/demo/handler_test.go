package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestHandler(t *testing.T) {
	for name, test := range map[string]struct {
		path string
		code int
		body string
	}{
		"version":               {"/", http.StatusOK, "v9\n"},
		"another path":          {"/else", http.StatusNotFound, "404 page not found\n"},
		"no duration":           {"/burn?millicores=1", http.StatusBadRequest, "seconds \"\": use a whole number from 1 to 600\n"},
		"too long":              {"/burn?seconds=601&millicores=1", http.StatusBadRequest, "seconds \"601\": use a whole number from 1 to 600\n"},
		"more than one core":    {"/burn?seconds=1&millicores=1001", http.StatusBadRequest, "millicores \"1001\": use a whole number from 1 to 1000\n"},
		"as asked, and bounded": {"/burn?seconds=1&millicores=1", http.StatusOK, "burnt 1 millicores for 1 seconds\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			recorder := httptest.NewRecorder()
			newHandler("v9").ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, test.path, http.NoBody))
			assert.Equal(t, test.code, recorder.Code)
			assert.Equal(t, test.body, recorder.Body.String())
		})
	}
}

func TestLifetime(t *testing.T) {
	for text, want := range map[string]time.Duration{"": 1<<63 - 1, "1": time.Second, "2147483647": (1<<31 - 1) * time.Second} {
		got, err := lifetime(text)
		assert.NoError(t, err)
		assert.Equal(t, want, got)
	}
	for _, text := range []string{"0", "-1", "soon", "2147483648"} {
		_, err := lifetime(text)
		assert.ErrorContains(t, err, "RUN_SECONDS \""+text+"\"")
	}
}

func TestSleep(t *testing.T) {
	assert.NoError(t, rest("0"))
	for _, text := range []string{"", "-1", "1 2", "eat"} {
		assert.ErrorContains(t, rest(text), "use: demo sleep SECONDS")
	}
}
