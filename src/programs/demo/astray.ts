/** The story did not go as it was told. */
export class Astray extends Error {
  override readonly name = "Astray";
}
