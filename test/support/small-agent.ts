import { type Home, type Members, start } from "./home.ts";
import { idOf } from "./reply.ts";

/** As `gw call`: opens a run for one call, or takes the one that is named, makes the call, and prints what it was answered. */
const PROGRAM = String.raw`use Socket;
my ($path, $action, $input, $seconds, $run) = @ARGV;
sub ask {
  my ($method, $to, $body) = @_;
  socket(my $s, PF_UNIX, SOCK_STREAM, 0) or die $!;
  connect($s, sockaddr_un($path)) or die $!;
  my $head = "$method $to HTTP/1.1\r\nHost: gw\r\nConnection: close\r\nPrefer: wait=$seconds\r\n";
  $head .= "Content-Type: application/json\r\nContent-Length: " . length($body) . "\r\n" if $body ne "";
  send($s, "$head\r\n$body", 0);
  my $said = do { local $/; <$s> };
  return $said =~ /^HTTP\S+ (\d+).*?\r\n\r\n(.*)/s;
}
my ($status, $said);
if ($run eq "") {
  ($status, $said) = ask("POST", "/v1/runs", qq({"purpose":"a test","actions":["$action"],"call_follows":true}));
  ($run) = $said =~ /"run_id":"([^"]+)"/ or (print $said), exit;
}
($status, $said) = ask("POST", "/v1/runs/$run/calls", qq({"action":"$action","input":$input}));
# A caller is kept waiting for half a minute at most.
while ($status == 202 && $seconds > 0 && $said =~ /"status_path":"([^"]+)"/) { ($status, $said) = ask("GET", $1, ""); }
print $said;`;

/** The command of an agent of four megabytes that is there in a moment. */
export function smallAgent(
  socket: string,
  action: string,
  input: Members,
  seconds: number,
  { perl = "/usr/bin/perl", run = "" } = {},
): readonly string[] {
  return [perl, "-e", PROGRAM, socket, action, JSON.stringify(input), String(seconds), run];
}

/** What the card of a fresh process of this image shows. It is approved: a denied question cools down for the same program. */
export async function cardOf(home: Home, perl: string): Promise<Members> {
  const command = smallAgent(home.agentSocket, "demo.thing.get", { id: "1" }, 30, { perl });
  const agent = start(command, { as: home.owner, env: {} });
  const [approval = {}] = await home.approvals();
  await home.approve(idOf(approval, "approval_id"));
  await agent.end();
  return approval["card"] as Members;
}
