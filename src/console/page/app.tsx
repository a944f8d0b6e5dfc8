import { useEffect, useReducer, useState } from "preact/hooks";
import { showText } from "../../kernel/display.ts";
import type { News } from "../live.ts";
import { Activity } from "./activity.tsx";
import { ask, Refused, stream } from "./api.ts";
import { Call } from "./call.tsx";
import { Charts } from "./charts.tsx";
import { Credentials } from "./credentials.tsx";
import { Entrance } from "./entrance.tsx";
import { FleetLog } from "./fleet-log.tsx";
import { Grants } from "./grants.tsx";
import { Log } from "./log.tsx";
import { type Connection, isOpen, type Me, START, type State, step } from "./model.ts";
import { Now } from "./now.tsx";
import { Pack, Packs } from "./packs.tsx";
import { Button, Chip } from "./parts.tsx";
import { People } from "./people.tsx";
import { Settings } from "./settings.tsx";
import { Waiting } from "./waiting.tsx";

/** What a console that listens beyond its operator's machine has to show. */
const LOOKING = [
  ["waiting", "Waiting"],
  ["now", "Now"],
  ["activity", "Activity"],
  ["charts", "Charts"],
  ["log", "Log"],
] as const;
const SCREENS = [
  ...LOOKING,
  ["packs", "Packs"],
  ["credentials", "Credentials"],
  ["grants", "Grants"],
  ["people", "People"],
  ["settings", "Settings"],
] as const;

const RETRY_MS = 2_000;

export function App() {
  const [me, setMe] = useState<Me | null>(null);
  const [gone, setGone] = useState(false);
  const [state, tell] = useReducer<State, News>((before, news) => step(before, news, performance.now()), START);
  const route = useRoute();
  /** Where the console has gone meanwhile, the stream of events says so. */
  const loadMe = async (): Promise<void> => setMe((await ask("GET", "/api/me")) as Me);

  const entered = me !== null && !me.enrolling;
  useEffect(() => {
    const start = async (): Promise<void> => {
      for (;;) {
        try {
          await stream("GET", "/api/events", (_event, data) => {
            setGone(false);
            tell(data);
          });
        } catch (error) {
          if (isLoggedOut(error)) return setMe(null);
          // Told below: it is tried again until the program is back, which then wants a link of its own.
        }
        setGone(true);
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    };
    if (entered) void start();
  }, [entered]);

  const open = state.rows.filter(isOpen).length;
  useEffect(() => {
    document.title = open > 0 ? `(${open}) gw` : "gw";
    const icon = open === 0 ? "" : open > 9 ? "-more" : `-${open}`;
    document.querySelector<HTMLLinkElement>("link[rel=icon]")?.setAttribute("href", `/icon${icon}.svg`);
  }, [open]);
  useNotices(state);
  // On a phone the names of the screens are wider than the page.
  useEffect(() => {
    document.querySelector("nav [aria-current=page]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [route.screen, entered]);

  if (me === null || !entered) return <Entrance me={me} onEntered={loadMe} />;
  return (
    <>
      <a class="skip" href="#main">
        To the content
      </a>
      <header class="bar">
        <h1>
          <a href="#/waiting">gw</a>
        </h1>
        <nav aria-label="Screens">
          {(me.remote || me.hub ? LOOKING : SCREENS).map(([name, label]) => (
            <a key={name} href={`#/${name}`} {...(route.screen === name ? { "aria-current": "page" as const } : {})}>
              {label}
              {name === "waiting" && open > 0 && <span class="badge">{open}</span>}
              {name === "now" && state.board.needs_person > 0 && <span class="badge">{state.board.needs_person}</span>}
            </a>
          ))}
        </nav>
        <p class="status" role="status">
          <NotifyButton />
          <Standing connection={state.connection} gone={gone} hub={me.hub} />
          <span class="operator">{showText(me.operator)}</span>
        </p>
      </header>
      <main id="main" tabIndex={-1} class={route.screen}>
        <Screen
          route={route}
          state={state}
          me={me}
          connected={!gone && state.connection?.kind === "live"}
          onPasskeys={() => void loadMe().catch(() => undefined)}
        />
      </main>
    </>
  );
}

/** Beyond the operator's machine a page can log in again by itself. */
function isLoggedOut(error: unknown): boolean {
  return location.protocol === "https:" && error instanceof Refused && error.code === "console_not_entered";
}

function Screen(props: {
  readonly route: Route;
  readonly state: State;
  readonly me: Me;
  readonly connected: boolean;
  readonly onPasskeys: () => void;
}) {
  const { route, state, me } = props;
  switch (route.screen) {
    case "now":
      return <Now board={state.board} remote={me.remote} hub={me.hub ? me.hub_url : null} />;
    case "activity":
      return <Activity key={route.query.toString()} query={route.query} hub={me.hub} />;
    case "call":
      return <Call id={route.id} gateway={route.query.get("gateway")} />;
    case "charts":
      return <Charts />;
    case "log":
      return me.hub ? <FleetLog /> : <Log remote={me.remote} />;
    case "packs":
      return route.id === "" ? <Packs /> : <Pack key={route.id} name={route.id} />;
    case "credentials":
      return <Credentials />;
    case "grants":
      return <Grants />;
    case "people":
      return <People onChange={props.onPasskeys} />;
    case "settings":
      return <Settings />;
    default:
      return (
        <>
          {state.connection?.kind === "live" &&
            state.connection.unread.map((text) => (
              <p key={text} class="problem" role="alert">
                {text}
              </p>
            ))}
          <Waiting rows={state.rows} me={me} chosen={route.id} connected={props.connected} />
        </>
      );
  }
}

function Standing(props: { readonly connection: Connection | null; readonly gone: boolean; readonly hub: boolean }) {
  const { connection, gone, hub } = props;
  if (gone) return <Chip kind="grave">the console program is gone</Chip>;
  if (connection === null) return <Chip kind="plain">connecting</Chip>;
  if (connection.kind === "lost") return <Chip kind="grave">{hub ? "no hub" : "no gateway"}</Chip>;
  return connection.locked ? <Chip kind="acts">locked</Chip> : <Chip kind="good">connected</Chip>;
}

/** Asked for by a click alone, and gone once the person has answered the browser. */
function NotifyButton() {
  const [permission, setPermission] = useState("Notification" in window ? Notification.permission : "denied");
  if (permission !== "default") return null;
  return (
    <Button class="link" onClick={() => void Notification.requestPermission().then(setPermission)}>
      Tell me of new cards
    </Button>
  );
}

interface Route {
  readonly screen: string;
  readonly id: string;
  readonly query: URLSearchParams;
}

function useRoute(): Route {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const change = (): void => setHash(location.hash);
    addEventListener("hashchange", change);
    return () => removeEventListener("hashchange", change);
  }, []);
  const [path = "", query = ""] = hash.slice(1).split("?");
  const [, screen = "waiting", id = ""] = path.split("/");
  return { screen: screen === "" ? "waiting" : screen, id: decodeURIComponent(id), query: new URLSearchParams(query) };
}

/** Tells of new cards where the person allowed it and does not look here. What it says is ours: no word of an agent's. */
function useNotices({ rows }: State): void {
  const newest = rows.filter(isOpen).at(-1)?.approval.approval_id ?? "";
  useEffect(() => {
    if (newest === "" || !document.hidden || !("Notification" in window) || Notification.permission !== "granted")
      return;
    new Notification("gw: a card waits for you", {
      tag: newest,
      body: "An agent asks for something that needs a person.",
    });
  }, [newest]);
}
