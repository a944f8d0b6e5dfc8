import type { MeantEffect } from "./effect.ts";

/** Words that open a name, a path's last segment or a sentence, and the effect they speak for. */
export const verbs: Readonly<Record<MeantEffect, ReadonlySet<string>>> = {
  read: words(`get list search query find lookup fetch read show view describe count export download browse
    retrieve check returns return status match resolve ping`),
  preview: words(`preview validate simulate dryrun estimate quote plan calculate lint`),
  write: words(`update set edit modify replace patch configure enable disable lock unlock start stop restart reset
    restore rollback move reassign assign transfer activate deactivate archive publish unpublish link
    unlink merge commit deploy execute run trigger retry cancel approve reject close reopen provision
    sync rename upload import suspend resume`),
  create: words(`create add new register upload clone copy duplicate open schedule setup`),
  delete: words(`delete remove destroy purge revoke drop clear wipe erase terminate uninstall`),
  send: words(`send notify email sms invite publish broadcast post dispatch deliver message resend remind`),
  purchase: words(`purchase buy order charge pay payout refund checkout subscribe upgrade invoice capture`),
  grant: words(`grant share impersonate delegate authorize elevate promote permit`),
  mint: words(`token issue rotate regenerate sign mint login authenticate exchange`),
};

/** Words that name a thing as often as a deed: `GET /invoice` reads an invoice, `POST /invoice` makes one. */
export const things =
  words(`message order invoice link deploy post email sms token plan quote upload import charge capture run
  commit merge lock copy clone schedule trigger patch set sign issue exchange archive refund payout
  checkout share grant transfer restore sync open`);

/** Things that decide what somebody may do. */
export const grantThings = words("role permission member membership collaborator grant policy");

/** Members of a body that only asks. */
export const queryFields = words("query filter filters sort order_by search q where limit page cursor");

function words(text: string): ReadonlySet<string> {
  return new Set(text.split(/\s+/));
}
