package containerstop

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// runHook runs a hook for as long as the grace period lasts. What takes longer is left alone.
func (s *Stopper) runHook(ctx context.Context, target Target, handler *corev1.LifecycleHandler, ports string, grace time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	switch {
	case handler.Exec != nil:
		_, stderr, err := target.Runtime.ExecSync(ctx, target.ID, handler.Exec.Command, grace)
		if err != nil {
			return fmt.Errorf("run %q: %w: %s", handler.Exec.Command, err, stderr)
		}
		return nil
	case handler.HTTPGet != nil:
		return get(ctx, handler.HTTPGet, target.PodIP, ports)
	case handler.Sleep != nil:
		select {
		case <-ctx.Done():
		case <-s.Clock.After(time.Duration(handler.Sleep.Seconds) * time.Second):
		}
		return nil
	default:
		return errors.New("neither exec nor httpGet nor sleep")
	}
}

// client trusts any certificate, as the kubelet does for hooks: a Pod speaks for nobody but itself.
var client = &http.Client{Transport: &http.Transport{
	TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // See above.
	// Proxies are for what is outside of the cluster.
	DisableKeepAlives: true,
}}

func get(ctx context.Context, action *corev1.HTTPGetAction, podIP, ports string) error {
	port, err := portNumber(action.Port, ports)
	if err != nil {
		return err
	}
	host := action.Host
	if host == "" {
		host = podIP
	}
	scheme := strings.ToLower(string(action.Scheme))
	if scheme == "" {
		scheme = "http"
	}
	path, query, _ := strings.Cut(action.Path, "?")
	address := url.URL{Scheme: scheme, Host: net.JoinHostPort(host, strconv.Itoa(port)), Path: path, RawQuery: query}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), http.NoBody)
	if err != nil {
		return fmt.Errorf("get %s: %w", &address, err)
	}
	for _, header := range action.HTTPHeaders {
		if strings.EqualFold(header.Name, "Host") {
			request.Host = header.Value
			continue
		}
		request.Header.Add(header.Name, header.Value)
	}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("get %s: %w", &address, err)
	}
	defer response.Body.Close() //nolint:errcheck // Nothing of it is read.
	if response.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("get %s: %s", &address, response.Status)
	}
	return nil
}

// portNumber finds a port by its name among those of the container.
func portNumber(port intstr.IntOrString, ports string) (int, error) {
	if port.Type == intstr.Int {
		return port.IntValue(), nil
	}
	var declared []corev1.ContainerPort
	if err := json.Unmarshal([]byte(ports), &declared); err == nil {
		for _, p := range declared {
			if p.Name == port.StrVal {
				return int(p.ContainerPort), nil
			}
		}
	}
	number, err := strconv.Atoi(port.StrVal)
	if err != nil {
		return 0, fmt.Errorf("the container has no port named %q", port.StrVal)
	}
	return number, nil
}
