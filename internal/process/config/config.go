// Package config holds the groups of settings that commands share, and loads
// them from the environment (ASKBUS_…); flags override them.
//
// Only cmd imports it: libraries are given their settings and never read the
// environment.
package config

import (
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"sort"
	"strings"
	"time"
	"unicode"

	"github.com/kelseyhightower/envconfig"
)

// Prefix is the prefix of every variable.
const Prefix = "ASKBUS"

// Common has the settings of every command.
type Common struct {
	Dir    string        `desc:"directory of keys, store and context.json; default: askbus in the user's state directory"`
	Tenant string        `default:"default" desc:"tenant"`
	Output string        `desc:"text or json; default: text on a terminal, else json"`
	Undo   time.Duration `default:"3s" desc:"how long the inbox, on the web and in terminals, holds an answer before it sends it, so that it can be taken back: 0 (not at all) to 10s"`
	Pprof  bool          `desc:"roles serve pprof on their ops address, on loopback only; profiles contain memory, which every user of this machine can then read"`
}

// Reach has the settings for a bus of another directory.
type Reach struct {
	NATS struct {
		URL  string        `desc:"NATS server; default: that of context.json"`
		Wait time.Duration `desc:"how long a role waits at its start until its server answers; default: not at all"`

		CAFile     string `split_words:"true" desc:"file (PEM) of the CAs of the NATS server's certificate; TLS is then required; default: that of context.json, else the system's"`
		ServerName string `split_words:"true" desc:"name that the NATS server's certificate must have; default: the host of the URL"`
		CertFile   string `split_words:"true" desc:"file (PEM) of a client certificate, for a NATS server that requires one; read again at each connect"`
		KeyFile    string `split_words:"true" desc:"file (PEM) of its key"`
	}
	HTTP struct {
		URL string `desc:"web inbox; default: that of context.json"`
	}
	Token string `desc:"bearer token for the HTTP API; read by the examples and the callbacks for SDKs, not by askbus"`
	Creds string `desc:"file with a credential: NATS .creds, or JSON as \"askbus auth\" prints it"`

	Exchange struct {
		URL       string `desc:"gateway that exchanges the token in ASKBUS_EXCHANGE_TOKEN_FILE for a credential, such as https://askbus.example.com"`
		TokenFile string `split_words:"true" desc:"file with that token, such as a pod's projected service-account token; it is read again whenever a credential is needed"`
		CAFile    string `split_words:"true" desc:"file (PEM) of the CAs of that gateway's certificate; default: the system's"`
	}
}

// Ledger has the layout of the ledger.
type Ledger struct {
	Partitions     int           `positive:"true" desc:"partitions, fixed when the ledger is created; default: the ledger's, 4 for a new one"`
	Replicas       int           `positive:"true" desc:"copies of each stream; default: the ledger's, for a new one 3 in a cluster, else 1"`
	Retention      time.Duration `positive:"true" desc:"how long an outcome is kept after its ask's deadline; default: the ledger's, 720h for a new one"`
	Margin         time.Duration `positive:"true" desc:"how much longer an outcome lives than its timer, at least 5s; default: the ledger's, 24h for a new one"`
	MaxStore       string        `split_words:"true" default:"10GiB" desc:"bytes on disk, at least 64MiB; new asks are refused from 80 % on"`
	AuditRetention time.Duration `split_words:"true" positive:"true" desc:"how long a new audit keeps its records; default 8760h; askbus ledger set changes an existing one"`
	AuditBytes     string        `split_words:"true" desc:"bytes of --max-store that a new audit may use; default: an eighth of it, at most 1GiB"`
	AuditFull      string        `split_words:"true" default:"drop" desc:"what a new audit does when it is full: drop the oldest records, or refuse new ones; asks and answers continue in both cases"`

	Policy string `desc:"policy file (YAML): what each tenant and each of its sessions may use; read again when it changes; default: the limits of docs/operations.md"`

	Approvals string `desc:"approvals file (YAML): named policies that say whose votes asks need, and which principals are one person; read again when it changes (docs/approvals-operator.md); all brokers need the same"`
}

// Listen has the addresses of a process.
type Listen struct {
	NATSAddr string `split_words:"true" default:"127.0.0.1:4280" desc:"NATS address of the embedded server"`
	LeafAddr string `split_words:"true" desc:"address where leaf nodes connect to the embedded NATS server: nats-servers of other regions, with a credential of askbus auth leaf; default: none"`
	HTTPAddr string `split_words:"true" default:"127.0.0.1:8420" desc:"address of the web inbox"`
	OpsAddr  string `split_words:"true" default:"127.0.0.1:0" desc:"address of /healthz, /readyz and /metrics"`

	StoreWait time.Duration `split_words:"true" desc:"how long up and server wait at their start while another process uses the store in their directory; default: not at all"`

	NATSMessages int `split_words:"true" default:"10000" desc:"messages a second that one credential of a tenant may send to the embedded NATS server; one that sends more is disconnected and refused for 10s or longer; -1: no limit"`

	HTTPConnections           int `split_words:"true" positive:"true" desc:"connections to the HTTP address at once; default: half of the descriptors that the process may open, at most 32768"`
	HTTPConnectionsPerAddress int `split_words:"true" positive:"true" desc:"of these, from one remote address; default: half of them"`
	HTTPConnectionsPerMinute  int `split_words:"true" positive:"true" desc:"new connections of one remote address in a minute; default: 30000"`

	HTTPLinger time.Duration `split_words:"true" desc:"how long gateway and inbox still serve after the signal to stop, ending each connection with its response, so that clients go to another replica; default: not at all"`

	TLS struct {
		Own          bool   `desc:"askbus up makes a certificate of its own"`
		CertFile     string `split_words:"true" desc:"file (PEM) of the certificate of this process's NATS and HTTP listeners, followed by its intermediates; read again when it changes, and on SIGHUP"`
		KeyFile      string `split_words:"true" desc:"file (PEM) of its key"`
		ClientCAFile string `split_words:"true" desc:"file (PEM) of the CAs of NATS clients, which must then show a certificate; read again as well"`
	}
	Insecure bool `desc:"allow NATS and HTTP listeners without TLS that other machines can reach, such as behind a proxy that terminates TLS"`
}

// Types has the responder types of a deployment.
type Types struct {
	ResponderTypes []string `split_words:"true" desc:"responder types (TYPE, or TYPE@TENANT for those of one tenant) whose work a broker keeps from the start, even without replicas; /backlog reports it to a scaler"`
}

// Web has the settings of the web inbox.
type Web struct {
	Groups []string `desc:"groups of the local user, for audiences"`
	Web    struct {
		CookieKey     string        `split_words:"true" desc:"key of login cookies, at least 32 characters, the same for every replica; default: derived from the directory's key"`
		CookieKeyFile string        `split_words:"true" desc:"file that holds the key of login cookies"`
		Idle          time.Duration `default:"72h" desc:"a sign-in ends after this time without activity"`
		Life          time.Duration `default:"720h" desc:"a sign-in ends after this time at the latest; at most 720h"`
		Hosts         []string      `hosts:"true" desc:"host names under which the inbox may be reached, besides loopback"`
		Rules         string        `desc:"rules file (YAML): what people may see and decide, by the claims of their sign-in; read at the start"`

		OIDC struct {
			Issuer           string        `desc:"OpenID Connect provider at which people sign in: its exact issuer (https://…)"`
			Name             string        `desc:"name of the provider on its button; default: its host"`
			ClientID         string        `split_words:"true" desc:"client id of this inbox at the provider"`
			ClientSecret     string        `split_words:"true" desc:"secret of that client"`
			ClientSecretFile string        `split_words:"true" desc:"file that holds the secret of that client"`
			Scopes           []string      `default:"openid,profile,email" desc:"scopes to ask for; offline_access if the provider requires it for refresh tokens"`
			GroupsClaim      string        `split_words:"true" default:"groups" desc:"claim that holds a person's groups, or a path such as realm_access.roles"`
			PrincipalClaim   string        `split_words:"true" default:"sub" desc:"claim that names a person: oidc:<issuer>#<value>; email must be verified"`
			AllowedGroups    []string      `split_words:"true" desc:"groups whose members may see and decide everything, * is everybody; instead of ASKBUS_WEB_RULES"`
			Life             time.Duration `default:"12h" desc:"a sign-in at the provider ends after this time at the latest"`
			Refresh          time.Duration `default:"10m" desc:"how often a sign-in is refreshed at the provider, if it gave a refresh token"`
		}

		Proxy struct {
			Header       string   `desc:"header in which an authenticating proxy names the person, such as X-Forwarded-User; requires the networks"`
			GroupsHeader string   `split_words:"true" desc:"header in which it names their groups, separated by commas"`
			NameHeader   string   `split_words:"true" desc:"header in which it gives their name"`
			Realm        string   `desc:"name of the people whom the proxy knows, such as staff: they are proxy:staff#<user>; needed if another inbox of the bus has a proxy with other people"`
			Networks     []string `desc:"addresses of that proxy, such as 10.0.0.5/32; the headers of others are ignored"`
		}
	}
}

// Push has the settings of web push.
type Push struct {
	Push struct {
		Hosts   []string      `hosts:"true" desc:"hosts of push services that may be called, beside those of Chrome, Edge, Firefox and Safari"`
		Contact string        `desc:"contact for push services: an https URL or an e-mail address; default: https://askbus.dev"`
		Unseen  time.Duration `default:"3m" desc:"people whose notification of an ask nobody saw for this long get a private message in a chat that they linked (see docs/answering.md); 1m to 4m, 0 for never"`
	}
}

// PagerDuty has the settings of the steps of ladders that lead to PagerDuty. Its key
// has no flag, because the arguments of a process are not secret.
type PagerDuty struct {
	Pagerduty struct {
		RoutingKey     string `split_words:"true" desc:"integration key of an Events API v2 integration of a PagerDuty service: steps of ladders with via pagerduty open incidents there"`
		RoutingKeyFile string `split_words:"true" desc:"file (mode 0600) that holds the integration key"`
		URL            string `default:"https://events.pagerduty.com" desc:"PagerDuty's Events API; of accounts in the EU https://events.eu.pagerduty.com"`
		Inbox          string `desc:"web inbox to which incidents link; default: that of context.json, unless it is a loopback address"`
	}
}

// AuditLog has the settings of the log that proves the audit.
type AuditLog struct {
	Audit struct {
		LogKey     string        `split_words:"true" desc:"file with the key that signs the log of the audit, from \"askbus audit key\""`
		LogEvery   time.Duration `split_words:"true" default:"1m" positive:"true" desc:"how often the log takes new records and signs a checkpoint"`
		LogPublish []string      `split_words:"true" desc:"where each checkpoint goes as well: files, and http or https URLs to which it is posted"`
	}
}

// Gateway has the settings of the HTTP and WebSocket endpoints.
type Gateway struct {
	CORSOrigins  []string `split_words:"true" desc:"web origins whose pages may call the HTTP API"`
	EmbedOrigins []string `split_words:"true" desc:"web origins that may frame /embed"`

	InteractAddr    string `split_words:"true" desc:"loopback address at which programs of this machine ask in the dialect interact without a token; default: none"`
	InteractSession string `split_words:"true" desc:"the session for which they ask there"`

	Gateway struct {
		URL string `desc:"where agents reach the gateway, as the A2A card, MCP's metadata and addresses of files say it; default: ASKBUS_HTTP_URL, else where it listens"`
	}
	MCP struct {
		Rules string `desc:"rules file (YAML): which OAuth issuers' access tokens count at /mcp, and for which tenant and sessions; read again when it changes; default: API tokens only"`
	}
}

// Issuer has the settings of the service that exchanges tokens for NATS
// credentials.
type Issuer struct {
	Issuer struct {
		Rules string `desc:"rules file (YAML): which tokens are exchanged for which NATS credentials; read again when it changes; default: API tokens only"`
	}
}

// Posting has the settings that every chat has, each under its own name.
type Posting struct {
	Type        string `desc:"responder type; a second workspace, server or bot of this chat for the same tenant has one of its own: the chat's name, a hyphen and a name; default: the chat's name"`
	Routes      string `desc:"routing file (YAML): which ask goes to which channel, chat, person or address; read again when it changes"`
	Digest      string `desc:"when a digest of the last seven days is sent every week, such as \"mon 09:00 Europe/Berlin\"; without a zone in UTC; default: never"`
	DigestPlace string `split_words:"true" desc:"id of the channel, chat or person (by e-mail the address) that gets the digest; default: where all asks go, or the default of the routing file"`
	Inbox       string `desc:"web inbox for \"Open in browser\"; default: that of context.json, unless it is a loopback address"`
}

// Slack has the settings of the surface in Slack. Its secrets have no flags,
// because the arguments of a process are not secret.
type Slack struct {
	Slack struct {
		Posting

		BotToken          string   `split_words:"true" desc:"bot token (xoxb-…)"`
		BotTokenFile      string   `split_words:"true" desc:"file that holds the bot token"`
		AppToken          string   `split_words:"true" desc:"app-level token (xapp-…): clicks come over Socket Mode"`
		AppTokenFile      string   `split_words:"true" desc:"file that holds the app-level token"`
		SigningSecret     string   `split_words:"true" desc:"signing secret: clicks come over HTTP"`
		SigningSecretFile string   `split_words:"true" desc:"file that holds the signing secret"`
		HTTPAddr          string   `split_words:"true" default:"127.0.0.1:8430" desc:"address of /slack/interactions, /slack/events and /slack/commands, with a signing secret"`
		Channel           string   `desc:"id of the channel for all asks, without a routing file"`
		Replicas          int      `default:"1" desc:"processes that may share this bot token; its limits are divided by those that live; at most 3 with Socket Mode"`
		Connections       int      `default:"2" desc:"Socket Mode connections of this process"`
		EmailPrefix       string   `split_words:"true" desc:"members answer as the principal made of this and their e-mail address, such as \"oidc:id.example.com#\"; default: never"`
		Strangers         []string `desc:"ids of workspaces whose members may answer in channels shared by Slack Connect"`
		URL               string   `default:"https://slack.com/api/" desc:"Slack's Web API"`
	}
}

// Discord has the settings of the surface in Discord. Its token has no flag,
// because a process's arguments are not secret.
type Discord struct {
	Discord struct {
		Posting

		Token     string `desc:"token of the bot, from the page Bot of the application"`
		TokenFile string `split_words:"true" desc:"file that holds the token"`
		PublicKey string `split_words:"true" desc:"public key of the application (64 hexadecimal digits): clicks come over HTTP; default: over the gateway"`
		HTTPAddr  string `split_words:"true" default:"127.0.0.1:8437" desc:"address of /discord/interactions, with a public key"`
		Channel   string `desc:"id of the channel for all asks, without a routing file"`
		URL       string `default:"https://discord.com/api/v10" desc:"Discord's HTTP API"`
	}
}

// Telegram has the settings of the surface in Telegram. Its token has no flag,
// because the arguments of a process are not secret.
type Telegram struct {
	Telegram struct {
		Posting

		Token     string `desc:"token of the bot, from @BotFather"`
		TokenFile string `split_words:"true" desc:"file that holds the token"`
		Chat      string `desc:"id of the chat for all asks, without a routing file; /id in the chat says it"`

		WebhookURL string `split_words:"true" desc:"https URL at which Telegram reaches this process, for any number of replicas: it calls /telegram/updates there; default: one replica polls"`
		HTTPAddr   string `split_words:"true" default:"127.0.0.1:8436" desc:"address of /telegram/updates, with a webhook URL"`

		URL string `default:"https://api.telegram.org" desc:"Telegram's Bot API"`
	}
}

// Email has the settings of the surface by e-mail. Its secrets have no flags,
// because the arguments of a process are not secret.
type Email struct {
	Email struct {
		Posting

		SMTP         string        `desc:"mail server: smtps://user@host, smtp://user@host with STARTTLS, or smtp+plain://127.0.0.1:25 without TLS on this machine"`
		Password     string        `desc:"password of that user"`
		PasswordFile string        `split_words:"true" desc:"file (mode 0600) that holds the password"`
		CAFile       string        `split_words:"true" desc:"certificates (PEM) that vouch for the mail server; default: those of the system"`
		From         string        `desc:"address that mails come from, such as \"askbus <ask@example.com>\""`
		To           string        `desc:"address for all asks, without a routing file"`
		People       string        `desc:"file (YAML) of who else may be written to, and who wants a digest, a language, or no outcomes; read again when it changes"`
		URL          string        `desc:"URL at which people reach the pages of this process; default: mails have no page"`
		HTTPAddr     string        `split_words:"true" default:"127.0.0.1:8440" desc:"address of the pages, for \"askbus email\""`
		Key          string        `desc:"key that signs links and addresses of replies, at least 32 characters; default: derived from the directory's"`
		KeyFile      string        `split_words:"true" desc:"file that holds the key"`
		Delay        time.Duration `default:"15s" desc:"how long an ask waits for other surfaces before it is mailed"`
		Reply        string        `desc:"address of replies: your mail server delivers its mail, with anything after a plus sign, to ASKBUS_EMAIL_RECEIVE"`
		Receive      string        `desc:"where it delivers: lmtp://127.0.0.1:8024, smtp://127.0.0.1:8025 or lmtp+unix:///path; default: replies are not read"`
		Servers      []string      `desc:"networks (CIDR) of the servers that may deliver; default: this machine"`
		Authserv     string        `desc:"name of your mail server in the header Authentication-Results: whose replies it vouches for are answers"`
		Hops         int           `default:"1" desc:"how many Received headers your own mail servers add to a mail"`
	}
}

// Feishu has the settings of the surface in Feishu and Lark. Its secrets have no
// flags, so that no process list shows them.
type Feishu struct {
	Feishu struct {
		Posting

		AppID                 string `split_words:"true" desc:"App ID of the app: cli_…"`
		AppSecret             string `split_words:"true" desc:"App Secret of the app"`
		AppSecretFile         string `split_words:"true" desc:"file that holds the App Secret"`
		Domain                string `default:"feishu.cn" desc:"feishu.cn, larksuite.com, or the https address of the API of an installation of your own"`
		EncryptKey            string `split_words:"true" desc:"Encrypt Key of the app's webhooks; with it there is no long connection"`
		EncryptKeyFile        string `split_words:"true" desc:"file that holds the Encrypt Key"`
		VerificationToken     string `split_words:"true" desc:"Verification Token of the app's webhooks"`
		VerificationTokenFile string `split_words:"true" desc:"file that holds the Verification Token"`
		HTTPAddr              string `split_words:"true" default:"127.0.0.1:8434" desc:"address of /feishu/events, for webhooks"`
		Chat                  string `desc:"id of the chat for all asks, without a routing file: oc_…; \"@bot /id\" in the chat says it"`
	}
}

// Teams has the settings of the surface in Microsoft Teams. Its secret has no
// flag, because the arguments of a process are not secret.
type Teams struct {
	Teams struct {
		Posting

		AppID      string   `split_words:"true" desc:"id of the app's registration in Microsoft Entra"`
		Directory  string   `desc:"id of the directory (tenant) of the app, whose members may answer"`
		Secret     string   `desc:"client secret of the app's registration"`
		SecretFile string   `split_words:"true" desc:"file that holds the client secret"`
		HTTPAddr   string   `split_words:"true" default:"127.0.0.1:8431" desc:"address of /teams/messages, the messaging endpoint of the bot"`
		Channel    string   `desc:"id of the channel or group chat for all asks, without a routing file; \"@askbus id\" in it says it"`
		Guests     []string `desc:"object ids of guests of the directory who may answer; default: none"`
		ServiceURL string   `split_words:"true" default:"https://smba.trafficmanager.net/teams" desc:"Bot Connector, for conversations whose own address Teams has not told yet"`
		LoginURL   string   `split_words:"true" default:"https://login.microsoftonline.com" desc:"login service"`
		KeysURL    string   `split_words:"true" default:"https://login.botframework.com/v1/.well-known/openidconfiguration" desc:"OpenID metadata of the connector's signing keys"`
	}
}

// Mattermost has the settings of the surface in Mattermost. Its token has no
// flag, because the arguments of a process are not secret.
type Mattermost struct {
	Mattermost struct {
		Posting

		URL       string   `desc:"address of the server, as its people open it; its host is part of their principals"`
		Token     string   `desc:"token of the bot"`
		TokenFile string   `split_words:"true" desc:"file that holds the token"`
		Callback  string   `desc:"address at which the server reaches this process, such as http://askbus:8432"`
		HTTPAddr  string   `split_words:"true" default:"127.0.0.1:8432" desc:"address of /mattermost/actions and /mattermost/dialogs, which the server calls"`
		Channel   string   `desc:"id of the channel for all asks, without a routing file"`
		Guests    []string `desc:"ids of guests of the server who may answer; default: none"`
	}
}

// Webhook has the settings of webhooks: callbacks of agents, and programs that get asks.
type Webhook struct {
	Webhook struct {
		File     string `desc:"file (YAML) of the callbacks that agents may name and of the programs that get asks; read again when it changes; default: none"`
		URL      string `desc:"URL at which receivers reach the inbox and answer addresses; default: that of this process or of context.json, unless another machine cannot reach it"`
		HTTPAddr string `split_words:"true" desc:"address of the answers of programs, for \"askbus webhook\"; default: none"`
	}
}

// SSH has the settings of the inbox over SSH.
type SSH struct {
	SSHAddr string `split_words:"true" desc:"address of the inbox over SSH; default: none in \"askbus up\", 127.0.0.1:8022 in \"askbus ssh\""`
	SSHKeys string `split_words:"true" desc:"file of the keys that may sign in over SSH, as authorized_keys; default: authorized_keys in the directory"`
}

// Log has the level and format of logs.
type Log struct {
	LogLevel  string `split_words:"true" default:"warn" desc:"debug, info, warn or error"`
	LogFormat string `split_words:"true" default:"text" desc:"text or json"`
}

// Telemetry says where traces are sent.
type Telemetry struct {
	OTLPEndpoint string `split_words:"true" desc:"collector that gets traces over OTLP (HTTP), such as http://127.0.0.1:4318; default: nothing is traced"`
	OTLPHeaders  string `split_words:"true" desc:"headers for it, as name=value,name=value"`
}

// Load fills a settings struct from the environment. An empty variable counts as not set, and spaces around the elements
// of a list do not count.
func Load(into any) error {
	if err := each(into, usable); err != nil {
		return err
	}
	if err := envconfig.Process(Prefix, into); err != nil {
		return fmt.Errorf("settings: %w", err)
	}
	return each(into, func(_ string, _ reflect.StructField, value reflect.Value) error {
		if list, ok := reflect.TypeAssert[[]string](value); ok {
			trim(list)
		}
		return nil
	})
}

// usable checks the variable of a setting: envconfig's errors do not say what to give. It removes an empty one, which
// envconfig takes for a value.
func usable(name string, field reflect.StructField, value reflect.Value) error {
	given := os.Getenv(name)
	if given == "" {
		return os.Unsetenv(name)
	}
	parsed := reflect.New(value.Type()).Elem()
	if err := set(parsed, given); err != nil {
		return fmt.Errorf("settings: %s is %q: %w", name, given, err)
	}
	// The zero value of some settings means that they were not set, so an explicit one is refused.
	if field.Tag.Get("positive") == "true" && parsed.Int() <= 0 {
		return fmt.Errorf("settings: %s is %q: give a positive value, or leave it out", name, given)
	}
	if field.Tag.Get("hosts") == "true" && strings.Contains(given, "/") {
		return fmt.Errorf("settings: %s is %q: give host names separated by commas, not URLs", name, given)
	}
	return nil
}

// Setting is one row of the settings table.
type Setting struct {
	Name        string `json:"name"`
	Default     string `json:"default"`
	Description string `json:"description"`
}

// Settings lists the settings of structs, sorted, each once.
func Settings(structs ...any) []Setting {
	seen := map[string]Setting{}
	for _, s := range structs {
		_ = each(s, func(name string, f reflect.StructField, _ reflect.Value) error { // the function returns no error
			seen[name] = Setting{name, f.Tag.Get("default"), f.Tag.Get("desc")}
			return nil
		})
	}
	all := slices.Collect(maps.Values(seen))
	sort.Slice(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return all
}

// each calls f with the variable and the value of each setting of a struct, or of what points to one.
func each(of any, f func(name string, field reflect.StructField, value reflect.Value) error) error {
	return eachIn(reflect.Indirect(reflect.ValueOf(of)), Prefix, f)
}

func eachIn(v reflect.Value, prefix string, f func(name string, field reflect.StructField, value reflect.Value) error) error {
	for field, value := range v.Fields() {
		name, err := prefix+"_"+words(field.Name), error(nil)
		if own := field.Tag.Get("envconfig"); own != "" { // a variable of somebody else, without our prefix
			name = own
		}
		switch {
		case !field.IsExported(): // no setting
		case field.Anonymous:
			err = eachIn(value, prefix, f)
		case field.Type.Kind() == reflect.Struct:
			err = eachIn(value, name, f)
		default:
			err = f(name, field, value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// words converts a field's name as envconfig's split_words does: OpsAddr to
// OPS_ADDR, HTTPAddr to HTTP_ADDR.
func words(name string) string {
	runes := []rune(name)
	var b strings.Builder
	for i, r := range runes {
		if i > 0 && unicode.IsUpper(r) && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToUpper(r))
	}
	return b.String()
}

// Unknown returns the environment variables with the prefix ASKBUS_ that no
// command reads: most are misspelt.
func Unknown(structs ...any) []string {
	known := map[string]bool{}
	for _, s := range Settings(structs...) {
		known[s.Name] = true
	}
	var unknown []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, Prefix+"_") && !strings.HasPrefix(name, Prefix+"_TEST_") && !known[name] {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	return unknown
}
