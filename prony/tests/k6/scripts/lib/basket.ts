// What typed.ts imports.
export interface Item {
  id: number;
  name: string;
  price: number;
}

export class Basket {
  constructor(public readonly owner: string, private items: Item[]) {}

  total(): number {
    return this.items.reduce((sum: number, { price }: Item) => sum + price, 0);
  }

  kind(item: Item): "cheap" | "dear" {
    return item.price > 50 ? "dear" : "cheap";
  }
}
