declare const brand: unique symbol;

/** A value that only the file owning the brand may make. */
export type Brand<Value, Name extends string> = Value & { readonly [brand]: Name };
