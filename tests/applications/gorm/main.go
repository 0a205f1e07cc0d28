// What a program with GORM does: migrations, associations, hooks, upserts, locks, transactions, JSON, raw queries.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"gorm.io/datatypes"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
)

type Company struct {
	ID   uint
	Name string `gorm:"size:80;uniqueIndex:company_name,length:40"`
}

type User struct {
	gorm.Model
	Name      string     `gorm:"size:100;not null;index:,sort:desc;comment:as it is spoken"`
	Email     *string    `gorm:"uniqueIndex"`
	Age       uint8      `gorm:"check:age_range,age < 150"`
	Balance   float64    `gorm:"type:decimal(12,2);default:0"`
	Birthday  *time.Time `gorm:"precision:3"`
	Active    bool       `gorm:"default:true"`
	Data      datatypes.JSON
	Tags      datatypes.JSONSlice[string]
	Blob      []byte `gorm:"type:varbinary(300)"`
	Kind      string `gorm:"type:enum('x','y','z');default:y"`
	CompanyID *uint
	Company   *Company
	ManagerID *uint
	Manager   *User      `gorm:"foreignKey:ManagerID"`
	Team      []User     `gorm:"foreignKey:ManagerID"`
	Pets      []Pet      `gorm:"polymorphic:Owner"`
	Languages []Language `gorm:"many2many:user_languages;constraint:OnDelete:CASCADE"`
	Account   Account    `gorm:"constraint:OnUpdate:CASCADE,OnDelete:SET NULL"`
}
type Account struct {
	ID     uint
	UserID *uint
	Number string
}
type Pet struct {
	ID        uint
	OwnerID   uint
	OwnerType string `gorm:"size:50"`
	Name      string
}
type Language struct {
	Code string `gorm:"primaryKey;size:10"`
	Name string
}
type Counter struct {
	Name  string `gorm:"primaryKey;size:50"`
	Value int64
}

func check(name string, what func() error) {
	func() {
		defer func() {
			if trouble := recover(); trouble != nil {
				fmt.Printf("FAILED %s: panic %v\n", name, trouble)
				name = ""
			}
		}()
		if err := what(); err != nil {
			fmt.Printf("FAILED %s: %s\n", name, strings.ReplaceAll(err.Error(), "\n", " "))
			name = ""
		}
	}()
	if name != "" {
		fmt.Printf("ok %s\n", name)
	}
}

func expect(is bool, format string, values ...any) error {
	if is {
		return nil
	}
	return fmt.Errorf(format, values...)
}

func main() {
	dsn := fmt.Sprintf("%s@tcp(%s:%s)/%s?charset=utf8mb4&parseTime=True&loc=UTC", os.Getenv("DB_USER"), os.Getenv("DB_HOST"), os.Getenv("DB_PORT"), os.Getenv("DB_NAME"))
	for _, prepared := range []bool{false, true} {
		db, err := gorm.Open(mysql.New(mysql.Config{DSN: dsn, DefaultStringSize: 256}), &gorm.Config{PrepareStmt: prepared, TranslateError: true, Logger: logger.Default.LogMode(logger.Silent)})
		if err != nil {
			fmt.Println("FAILED open:", err)
			return
		}
		suite(db, map[bool]string{false: " (text)", true: " (prepared)"}[prepared])
	}
}

func suite(db *gorm.DB, how string) {
	models := []any{&Company{}, &Language{}, &User{}, &Account{}, &Pet{}, &Counter{}}
	email := func(text string) *string { return &text }
	check("migrate"+how, func() error {
		if err := db.Migrator().DropTable(append([]any{"user_languages"}, models...)...); err != nil {
			return err
		}
		return db.AutoMigrate(models...)
	})
	check("migrate again"+how, func() error { return db.AutoMigrate(models...) })
	check("columns"+how, func() error {
		types, err := db.Migrator().ColumnTypes(&User{})
		if err != nil {
			return err
		}
		return expect(len(types) == 16, "%d columns", len(types))
	})
	check("migrator"+how, func() error {
		m := db.Migrator()
		if !m.HasTable(&User{}) || !m.HasColumn(&User{}, "balance") || !m.HasIndex(&User{}, "Email") || !m.HasConstraint(&User{}, "age_range") || !m.HasConstraint(&User{}, "Account") {
			return errors.New("something is not there")
		}
		if err := m.RenameColumn(&Pet{}, "name", "label"); err != nil {
			return err
		}
		if err := m.RenameColumn(&Pet{}, "label", "name"); err != nil {
			return err
		}
		if err := m.RenameIndex(&User{}, "idx_users_email", "by_email"); err != nil {
			return err
		}
		if err := m.RenameIndex(&User{}, "by_email", "idx_users_email"); err != nil {
			return err
		}
		if err := m.DropConstraint(&User{}, "age_range"); err != nil {
			return err
		}
		if err := m.CreateConstraint(&User{}, "age_range"); err != nil {
			return err
		}
		if err := m.AlterColumn(&User{}, "Name"); err != nil {
			return err
		}
		_, err := m.GetIndexes(&User{})
		if err != nil {
			return err
		}
		_, err = m.TableType(&User{})
		return err
	})
	born := time.Date(1990, 2, 3, 4, 5, 6, 789e6, time.UTC)
	check("create with associations"+how, func() error {
		user := User{Name: "Ann ☃", Email: email("ann@x"), Age: 30, Birthday: &born, Balance: 12.34, Data: datatypes.JSON(`{"a": {"b": [1, 2]}, "n": "ä"}`), Tags: []string{"p", "q"},
			Blob: []byte{0, 1, 255}, Company: &Company{Name: "Acme"}, Account: Account{Number: "7"}, Pets: []Pet{{Name: "cat"}, {Name: "dog"}},
			Languages: []Language{{"de", "German"}, {"fr", "French"}}, Team: []User{{Name: "Bob", Email: email("bob@x")}, {Name: "Cid"}}}
		return db.Create(&user).Error
	})
	check("read back"+how, func() error {
		var user User
		err := db.Preload(clause.Associations).Preload("Team.Manager").First(&user, "name = ?", "Ann ☃").Error
		if err != nil {
			return err
		}
		return expect(len(user.Pets) == 2 && len(user.Languages) == 2 && len(user.Team) == 2 && user.Company.Name == "Acme" && user.Account.Number == "7" && user.Birthday.Equal(born) && user.Balance == 12.34 && user.Active && user.Kind == "y" && len(user.Blob) == 3, "%+v", user)
	})
	check("batches"+how, func() error {
		var users []User
		for i := 0; i < 250; i++ {
			users = append(users, User{Name: fmt.Sprintf("user %03d", i), Age: uint8(i % 100), Balance: float64(i) / 4})
		}
		if err := db.CreateInBatches(&users, 60).Error; err != nil {
			return err
		}
		var seen int
		err := db.Where("name LIKE ?", "user%").FindInBatches(&[]User{}, 70, func(tx *gorm.DB, batch int) error { seen += int(tx.RowsAffected); return nil }).Error
		if err != nil {
			return err
		}
		return expect(seen == 250 && users[249].ID-users[0].ID == 249, "%d seen", seen)
	})
	check("upsert"+how, func() error {
		for i := 0; i < 3; i++ {
			err := db.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "name"}}, DoUpdates: clause.Assignments(map[string]any{"value": gorm.Expr("value + VALUES(value)")})}).Create(&Counter{"c", 5}).Error
			if err != nil {
				return err
			}
		}
		if err := db.Clauses(clause.OnConflict{DoNothing: true}).Create(&Counter{"c", 1}).Error; err != nil {
			return err
		}
		if err := db.Clauses(clause.OnConflict{UpdateAll: true}).Create(&[]Counter{{"c", 100}, {"d", 1}}).Error; err != nil {
			return err
		}
		if err := db.Clauses(clause.Insert{Modifier: "IGNORE"}).Create(&Counter{"d", 9}).Error; err != nil {
			return err
		}
		var sum int64
		db.Model(&Counter{}).Select("SUM(value)").Scan(&sum)
		return expect(sum == 101, "%d", sum)
	})
	check("errors"+how, func() error {
		if err := db.Create(&User{Name: "x", Email: email("ANN@x")}).Error; !errors.Is(err, gorm.ErrDuplicatedKey) {
			return fmt.Errorf("no duplicate: %v", err)
		}
		if err := db.Create(&User{Name: "old", Age: 200}).Error; err == nil || !strings.Contains(err.Error(), "3819") {
			return fmt.Errorf("no check: %v", err)
		}
		none := uint(99999)
		if err := db.Create(&User{Name: "x", CompanyID: &none}).Error; !errors.Is(err, gorm.ErrForeignKeyViolated) {
			return fmt.Errorf("no foreign key: %v", err)
		}
		if err := db.First(&User{}, 999999).Error; !errors.Is(err, gorm.ErrRecordNotFound) {
			return fmt.Errorf("found: %v", err)
		}
		return nil
	})
	check("json"+how, func() error {
		var count int64
		if err := db.Model(&User{}).Where(datatypes.JSONQuery("data").HasKey("a", "b")).Where(datatypes.JSONQuery("data").Equals("ä", "n")).Count(&count).Error; err != nil {
			return err
		}
		if count != 1 {
			return fmt.Errorf("%d", count)
		}
		if err := db.Model(&User{}).Where(datatypes.JSONArrayQuery("tags").Contains("q")).Count(&count).Error; err != nil || count != 1 {
			return fmt.Errorf("tags %d %v", count, err)
		}
		if err := db.Model(&User{}).Where("name = ?", "Ann ☃").UpdateColumn("data", datatypes.JSONSet("data").Set("a.c", 7).Set("n", "ö")).Error; err != nil {
			return err
		}
		var n string
		db.Model(&User{}).Where("name = ?", "Ann ☃").Select("data->>'$.n'").Scan(&n)
		return expect(n == "ö", "%q", n)
	})
	check("queries"+how, func() error {
		var rows []struct {
			Decade int
			Count  int
			Total  float64
		}
		if err := db.Model(&User{}).Select("age DIV 10 AS decade, COUNT(*) AS count, SUM(balance) AS total").Where("name LIKE ?", "user%").Group("decade").Having("count > ?", 20).Order("decade").Scan(&rows).Error; err != nil {
			return err
		}
		if len(rows) != 5 || rows[0].Decade != 0 {
			return fmt.Errorf("%v", rows)
		}
		var users []User
		sub := db.Model(&User{}).Select("AVG(age)")
		if err := db.Where("age > (?)", sub).Or(db.Where("name = ?", "Bob").Where("kind IN ?", []string{"x", "y"})).Not("id IN ?", []int{1, 2}).Order("name desc").Limit(5).Offset(3).Find(&users).Error; err != nil {
			return err
		}
		var names []string
		if err := db.Table("(?) as u", db.Model(&User{}).Select("name", "age")).Joins("LEFT JOIN companies c ON c.id = u.age").Distinct().Pluck("u.name", &names).Error; err != nil {
			return err
		}
		if err := db.Joins("Company").Joins("Manager", db.Where(&User{Kind: "y"})).Order("users.id").Limit(3).Find(&users).Error; err != nil {
			return err
		}
		if err := db.Raw("SELECT * FROM users WHERE name = @name OR age = @age", map[string]any{"name": "Bob", "age": 3}).Scan(&users).Error; err != nil {
			return err
		}
		return expect(len(names) == 253 && len(users) == 4, "%d %d", len(names), len(users))
	})
	check("updates"+how, func() error {
		result := db.Model(&User{}).Where("age BETWEEN ? AND ?", 10, 19).Updates(map[string]any{"balance": gorm.Expr("balance * ? + ?", 2, 1), "active": false})
		if result.Error != nil || result.RowsAffected != 30 {
			return fmt.Errorf("%d %v", result.RowsAffected, result.Error)
		}
		if err := db.Model(&User{}).Where("age = 5").Order("id").Limit(1).Update("name", "first").Error; err != nil {
			return err
		}
		result = db.Where("age = ?", 9).Delete(&User{})
		if result.RowsAffected != 3 {
			return fmt.Errorf("%d deleted", result.RowsAffected)
		}
		var all, left int64
		db.Unscoped().Model(&User{}).Count(&all)
		db.Model(&User{}).Count(&left)
		if all-left != 3 {
			return fmt.Errorf("%d of %d", left, all)
		}
		return db.Unscoped().Where("deleted_at IS NOT NULL").Delete(&User{}).Error
	})
	check("associations"+how, func() error {
		var user User
		db.First(&user, "name = ?", "Ann ☃")
		if err := db.Model(&user).Association("Languages").Replace([]Language{{"it", "Italian"}, {"de", "German"}}); err != nil {
			return err
		}
		if err := db.Model(&user).Association("Languages").Append(&Language{"en", "English"}); err != nil {
			return err
		}
		if n := db.Model(&user).Association("Languages").Count(); n != 3 {
			return fmt.Errorf("%d", n)
		}
		if err := db.Model(&user).Association("Pets").Clear(); err != nil {
			return err
		}
		return db.Model(&user).Association("Languages").Clear()
	})
	check("transactions"+how, func() error {
		err := db.Transaction(func(tx *gorm.DB) error {
			tx.Create(&Counter{"outer", 1})
			_ = tx.Transaction(func(tx2 *gorm.DB) error { tx2.Create(&Counter{"inner", 1}); return errors.New("back") })
			tx.SavePoint("s")
			tx.Create(&Counter{"after", 1})
			tx.RollbackTo("s")
			return nil
		})
		if err != nil {
			return err
		}
		var names []string
		db.Model(&Counter{}).Order("name").Pluck("name", &names)
		return expect(strings.Join(names, " ") == "c d outer", "%v", names)
	})
	check("locks under contention"+how, func() error {
		db.Save(&Counter{"hot", 0})
		var group sync.WaitGroup
		failures := make(chan error, 8)
		for i := 0; i < 8; i++ {
			group.Add(1)
			go func() {
				defer group.Done()
				for n := 0; n < 20; n++ {
					err := db.Transaction(func(tx *gorm.DB) error {
						var c Counter
						if err := tx.Clauses(clause.Locking{Strength: "UPDATE"}).First(&c, "name = ?", "hot").Error; err != nil {
							return err
						}
						c.Value++
						return tx.Save(&c).Error
					})
					if err != nil {
						failures <- err
						return
					}
				}
			}()
		}
		group.Wait()
		select {
		case err := <-failures:
			return err
		default:
		}
		var c Counter
		db.First(&c, "name = ?", "hot")
		if err := db.Clauses(clause.Locking{Strength: "SHARE", Options: "SKIP LOCKED"}).Find(&[]Counter{}).Error; err != nil {
			return err
		}
		return expect(c.Value == 160, "%d", c.Value)
	})
	check("hints and scopes"+how, func() error {
		if err := db.Exec("SET @n := 5").Error; err != nil {
			return err
		}
		rows, err := db.Model(&User{}).Where("age IN ?", []int{1, 2}).Rows()
		if err != nil {
			return err
		}
		defer rows.Close()
		n := 0
		for rows.Next() {
			var user User
			if err := db.ScanRows(rows, &user); err != nil {
				return err
			}
			n++
		}
		return expect(n == 6, "%d", n)
	})
	check("drop"+how, func() error { return db.Migrator().DropColumn(&Pet{}, "owner_type") })
}
