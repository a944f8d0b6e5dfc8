import type { CheckedDocument, DocumentParts } from "../../../hub/documents.ts";
import { openPolicyOrder } from "../../../hub/policy-order.ts";
import { Denied } from "../../../kernel/failure.ts";

type Home = Pick<DocumentParts, "here" | "check" | "take" | "open" | "vaultId">;

/** Puts in force what an operator signed elsewhere: the policy after the one that is in force here, and no other. What it says then. */
export async function takePolicyOrder(body: string, home: Home): Promise<string> {
  const order = openPolicyOrder(body, home.vaultId, home.open);
  if (order === undefined)
    throw new Denied(
      "value_not_allowed",
      "This is no policy that anybody of this vault sealed for its gateways. Where an operator was removed since your files were copied, copy vault.json and policy.json from a host once more.",
    );
  const [vault, policy] = ["vault", "policy"].map((kind) => home.here().find((one) => one.kind === kind));
  if (vault === undefined || policy === undefined)
    throw new Denied(
      "policy_tampered",
      "The policy of this host does not hold, so that nothing follows it. See gw status there.",
    );
  const { knows } = order;
  if (knows.vault > vault.generation || knows.policy > policy.generation)
    throw new Denied(
      "gateway_behind",
      `Whoever signed this knows vault ${knows.vault} and policy ${knows.policy}; this gateway follows vault ${vault.generation} and policy ${policy.generation}. It follows what another gateway takes. See gw status there.`,
    );
  const next = home.check("policy", order.text, null);
  if (next === undefined) throw new Denied("policy_tampered", "No operator of this vault signed this policy.");
  if (next.digest === policy.digest) return "taken";
  if (next.generation !== policy.generation + 1) throw movedOn(next, policy);
  await home.take([next]);
  // An operator may have signed on this host at the same moment: that one stays, and this one is not in force.
  const now = home.here().find(({ kind }) => kind === "policy");
  if (now?.digest !== next.digest) throw movedOn(next, now ?? policy);
  return "taken";
}

function movedOn(next: CheckedDocument, { generation }: CheckedDocument): Denied {
  const other = generation === next.generation ? "another" : `policy ${generation}`;
  return new Denied(
    "policy_moved_on",
    `This is policy ${next.generation}, and this gateway follows ${other} already. Nothing was changed. Say it once more: it is made from the newest one then.`,
  );
}
