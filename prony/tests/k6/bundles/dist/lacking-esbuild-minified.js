import t from"k6/http";var o=open("./absent.txt");function p(){t.gett(`http://shop.test/${o}`)}export{p as default};
//# sourceMappingURL=lacking-esbuild-minified.js.map
