/**
 * Actions are called PACK.SEGMENT.SEGMENT; many clients take letters, digits, `_` and `-` alone. A pack's name has no
 * `_` and a segment has no `-`, so that `PACK__SEGMENT-SEGMENT` can be read back, and no action can take the name of a
 * tool of ours.
 */
export function toolNameOf(action: string): string {
  const at = action.indexOf(".");
  return `${action.slice(0, at)}__${action.slice(at + 1).replaceAll(".", "-")}`;
}

const TOOL = /^[a-z][a-z0-9-]{0,31}__[a-z][a-z0-9_-]{0,258}$/;

/** Null for a name that no action can have. */
export function actionNameOf(tool: string): string | null {
  if (!TOOL.test(tool)) return null;
  const at = tool.indexOf("__");
  const action = `${tool.slice(0, at)}.${tool.slice(at + 2).replaceAll("-", ".")}`;
  return toolNameOf(action) === tool ? action : null;
}
