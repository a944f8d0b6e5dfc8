/** By what a card is known on the page: another gateway may show something else under the same name. */
export function keyOf({ approval_id, gateway }: { readonly approval_id: string; readonly gateway?: string }): string {
  return gateway === undefined ? approval_id : `${approval_id}@${gateway}`;
}
