package live

import (
	"context"

	tea "charm.land/bubbletea/v2"
)

// actions are what the keys do. Each returns the notice to show, also for an error. They are called outside of the
// goroutine that draws.
type actions struct {
	pause, resume, undo func(context.Context) string
}

// update is a message with what was read last.
type update Model

// reason is a message with why there is no progress.
type reason string

// notice is a message with the result of a key.
type notice string

// program draws a Model on a terminal. It is a value: Update returns a changed copy, as the library asks for.
type program struct {
	ctx     context.Context //nolint:containedctx // The library's interface has no context.
	model   Model
	actions actions
}

// Init implements tea.Model.
func (p program) Init() tea.Cmd { return nil }

// Update implements tea.Model. What was read replaces the Model, except for the notice and the reason, which come by
// messages of their own.
func (p program) Update(message tea.Msg) (tea.Model, tea.Cmd) {
	switch message := message.(type) {
	case update:
		before := p.model
		p.model = Model(message)
		p.model.Notice, p.model.Why = before.Notice, before.Why
		if p.model.Ended != "" {
			return p, tea.Quit
		}
	case reason:
		p.model.Why = string(message)
	case notice:
		p.model.Notice = string(message)
	case tea.KeyPressMsg:
		return p, p.key(message.String())
	}
	return p, nil
}

// View implements tea.Model.
func (p program) View() tea.View { return tea.NewView(View(&p.model)) }

// key returns what a key does. An unknown key does nothing. An action runs in the background, and its result becomes
// a notice.
func (p program) key(key string) tea.Cmd {
	run := map[string]func(context.Context) string{"p": p.actions.pause, "r": p.actions.resume, "u": p.actions.undo}[key]
	switch {
	case key == "q" || key == "ctrl+c" || key == "esc":
		return tea.Quit
	case run == nil:
		return nil
	default:
		return func() tea.Msg { return notice(run(p.ctx)) }
	}
}
