package app

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"belay/models/gateway"
)

// GatewayState is a running gateway, as other belays on this computer find it.
type GatewayState struct {
	URL   string    `json:"url"` // where its paths begin
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
	gateway.Load
}

// gatewayKey begins the name under which the state that all belays share has a gateway.
const gatewayKey = "gateway "

// AnnounceGateway tells other belays of a gateway; withdraw takes it back.
func (a *App) AnnounceGateway(ctx context.Context, url string) (withdraw func() error, err error) {
	write := func(ctx context.Context, state GatewayState) error {
		err := a.Store.UpdateShared(ctx, gatewayKey+url, func([]byte) ([]byte, error) { return json.Marshal(state) })
		if err != nil {
			return fmt.Errorf("tell others of the gateway: %w", err)
		}
		return nil
	}
	if err := write(ctx, GatewayState{URL: url, PID: os.Getpid(), Since: a.env.Now()}); err != nil {
		return nil, err
	}
	return func() error { return write(context.WithoutCancel(ctx), GatewayState{}) }, nil
}

// healthLimit is how long a gateway on this computer may take to say that it lives.
const healthLimit = time.Second

// Gateways are those that run on this computer and answer.
func (a *App) Gateways(ctx context.Context) ([]GatewayState, error) {
	all, err := a.Store.SharedStates(ctx)
	if err != nil {
		return nil, err
	}
	var list []GatewayState
	for key, value := range all {
		var state GatewayState
		if !strings.HasPrefix(key, gatewayKey) || json.Unmarshal(value, &state) != nil || state.URL == "" {
			continue
		}
		if state.alive(ctx) {
			list = append(list, state)
		}
	}
	slices.SortFunc(list, func(x, y GatewayState) int { return strings.Compare(x.URL, y.URL) })
	return list, nil
}

// alive asks a gateway how busy it is. One that was killed has left its name behind.
func (s *GatewayState) alive(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, healthLimit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/healthz", http.NoBody)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	return json.NewDecoder(response.Body).Decode(&s.Load) == nil
}
